import { visible } from '../../text/visible-text.ts';
import { type Environment, gitHubGuard, isGitHub, type OutputGuard } from './github-guard.ts';

/** Lines that a CI service interprets in the log of a job. All are written to stderr. */
interface CILog {
  /** Starts the section of container output. */
  begin(title: string): string;
  end(): string;
  /** An annotation of the run. Empty if the service has none. */
  failure(title: string, message: string): string;
  /** Neutralizes commands in container output. Undefined if the service accepts no commands from a log. */
  guard: OutputGuard | undefined;
}

interface Context {
  env: Environment;
  /** An unpredictable word. */
  token: string;
  /** Milliseconds since 1970. */
  now: () => number;
}

/** The CI service that this process runs in, detected by its environment. Undefined if none is known. */
export function ciLog({ env, token, now }: Context): CILog | undefined {
  if (isGitHub(env)) return gitHubLog;
  if (env['GITLAB_CI'] === 'true') return gitLabLog(token, now);
  return undefined;
}

/**
 * GitHub's workflow commands. https://docs.github.com/actions/reference/workflow-commands-for-github-actions
 */
const gitHubLog: CILog = {
  begin: (title) => `::group::${gitHubText(title)}\n`,
  end: () => '::endgroup::\n',
  failure: (title, message) => `::error title=${gitHubProperty(title)}::${gitHubText(message)}\n`,
  guard: gitHubGuard,
};

const gitHubText = (text: string): string =>
  text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
const gitHubProperty = (text: string): string => gitHubText(text).replaceAll(':', '%3A').replaceAll(',', '%2C');

/** GitLab's sections. https://docs.gitlab.com/ci/jobs/job_logs/#custom-collapsible-sections */
function gitLabLog(token: string, now: () => number): CILog {
  const mark = (word: string): string => `\u001b[0Ksection_${word}:${Math.floor(now() / 1000)}:${token}\r\u001b[0K`;
  return {
    begin: (title) => `${mark('start')}${visible(title)}\n`,
    end: () => `${mark('end')}\n`,
    failure: () => '',
    guard: undefined,
  };
}
