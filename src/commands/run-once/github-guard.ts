/** Neutralizes CI workflow commands in container output. */
export interface OutputGuard {
  /** Changes a line, which has no line end. */
  line: (line: Buffer) => Buffer;
  /** Changes a text of any number of lines. */
  text: (text: string) => string;
  /** Changes JSON. Its value stays. */
  json: (json: string) => string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const isGitHub = (env: Environment): boolean => env['GITHUB_ACTIONS'] === 'true';

/** Neutralizes commands in text that others wrote. Undefined unless this process runs in a CI service that needs it. */
export const outputGuard = (env: Environment): OutputGuard | undefined => (isGitHub(env) ? gitHubGuard : undefined);

/**
 * Escapes GitHub's workflow commands, because a container is not part of the workflow. `::stop-commands::` does not do:
 * the runner reads stdout and stderr apart, so commands at the end of one may come after the end of the stop in the
 * other.
 */
export const gitHubGuard: OutputGuard = {
  line: (line) => {
    if (!line.includes('::') && !line.includes('##[')) return line;
    const text = line.toString('utf8');
    const safe = safeLine(text);
    return safe === text ? line : Buffer.from(safe);
  },
  text: (text) => text.split('\n').map(safeLine).join('\n'),
  // No line of JSON begins with a text, so it has the older commands only.
  json: (json) => json.replaceAll('##[', String.raw`##\u005b`),
};

/**
 * The beginnings of workflow commands. The runner takes a carriage return for a line end, and skips blanks. No blank
 * here is a carriage return: a run of these would be read once from each of them.
 */
const commandStart = /(?:^|\r)(?:[^\S\r]|\u0085)*::|##\[/g;

const safeLine = (line: string): string => line.replace(commandStart, (start) => start.replace(/::$|\[$/, '\\$&'));
