import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { killGroup } from '../../engine/host/kill-group.ts';

/** Time limit of one command, in milliseconds. */
const timeoutMs = 60_000;
/** Limit in blocks of 512 bytes for a file that git writes, such as the pack of a commit. */
const maxFileBlocks = (256 * 1024 * 1024) / 512;

/** Memory limit of one program, in KiB. `ulimit -v` would count what Go and .NET only reserve. */
const maxMemoryKiB = 512 * 1024;
/** git's largest allocation. Objects in a repository of manifests are far smaller. */
const maxAllocation = '128m';

/**
 * Returns shell words that raise the oom_score_adj inherited from the agent, which may be -999, so that the kernel
 * kills git first.
 */
export const raiseScore = (path: string): string =>
  `{ read -r score <${path} && [ "$score" -lt 0 ] && echo 0 >${path}; } 2>/dev/null`;

/** Limits memory if the system allows it, and always limits file sizes. */
const limitedGit = [
  raiseScore('/proc/self/oom_score_adj'),
  `ulimit -d ${maxMemoryKiB} 2>/dev/null`,
  'ulimit -f "$0" && exec git "$@"',
].join('; ');

/** Limits against a server that lies, and overrides for operators' settings that would run programs. */
const settings: readonly string[] = [
  'protocol.allow=never',
  // A redirect could lead to any server that this machine can reach, such as a cloud's metadata service.
  'http.followRedirects=false',
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'fetch.fsckObjects=true',
  'fetch.recurseSubmodules=false',
  'gc.auto=0',
  'maintenance.auto=false',
  'http.lowSpeedLimit=1',
  'http.lowSpeedTime=20',
  // Larger files are never in memory as a whole. Before git 2.38, the unpacker of small packs loads them whole.
  'core.bigFileThreshold=16m',
  'fetch.unpackLimit=1',
  'core.deltaBaseCacheLimit=16m',
  'pack.threads=1',
];

/** Arguments always name the repository. Passwords come only from credential helpers. */
const environment: Readonly<Record<string, string | undefined>> = {
  GIT_DIR: undefined,
  GIT_WORK_TREE: undefined,
  GIT_INDEX_FILE: undefined,
  GIT_OBJECT_DIRECTORY: undefined,
  GIT_ALTERNATE_OBJECT_DIRECTORIES: undefined,
  GIT_TERMINAL_PROMPT: '0',
  GIT_ASKPASS: 'false',
  GIT_LITERAL_PATHSPECS: '1',
  GIT_ALLOC_LIMIT: maxAllocation,
  LC_ALL: 'C',
};

interface Options {
  /** The protocol that may be used, `https` or `http`. */
  protocol: string;
  signal: AbortSignal;
  input?: string;
  maxOutputBytes?: number;
}

/**
 * Runs git with limits on time, output, disk and memory. Resolves to its output. Rejects with an OriginFailure that
 * contains git's reason.
 */
export async function git(
  args: readonly string[],
  { protocol, signal, input = '', maxOutputBytes }: Options,
): Promise<Buffer> {
  const { execa } = await import('execa');
  const all = [...settings, `protocol.${protocol}.allow=always`].flatMap((setting) => ['-c', setting]);
  const limited = ['-c', limitedGit, String(maxFileBlocks), ...all, ...args];
  signal.throwIfAborted();
  const tooLong = AbortSignal.timeout(timeoutMs);
  // A process group, because git starts programs such as git-remote-https, which keep its output open.
  const child = execa('/bin/sh', limited, {
    env: environment,
    encoding: 'buffer',
    input: Buffer.from(input),
    stripFinalNewline: false,
    maxBuffer: maxOutputBytes ?? 1024 * 1024,
    detached: true,
    reject: false,
  });
  const kill = (): void => {
    killGroup(child);
  };
  for (const ending of [signal, tooLong]) ending.addEventListener('abort', kill, { once: true });
  const { failed, stdout, stderr, exitCode, isMaxBuffer } = await child;
  for (const ending of [signal, tooLong]) ending.removeEventListener('abort', kill);
  signal.throwIfAborted();
  if (!failed) return Buffer.from(stdout);
  if (exitCode === notFoundExitCode) throw failure('git is not installed', 'Install the package git.');
  if (tooLong.aborted) throw failure(`git was not done after ${timeoutMs / 1000} s`, repeated);
  if (isMaxBuffer) {
    const message = 'git printed more than a repository of manifests has';
    throw new OriginFailure('is no manifest', message, 'Name a folder with fewer files: …//FOLDER');
  }
  const errors = Buffer.from(stderr).toString('utf8');
  if (/out of memory|attempting to allocate|cannot allocate memory/i.test(errors)) {
    const hint = 'It is probably no repository of manifests. Check the URL.';
    throw new OriginFailure('is a flood', `git needs too much memory: ${reasonOf(errors).replace('git: ', '')}`, hint);
  }
  if (/unable to update url base from redirection|returned error: 30\d/.test(errors)) {
    throw failure(reasonOf(errors), 'Redirects are not followed. Name the URL to which the server redirects.');
  }
  throw failure(reasonOf(errors), 'Try it: git ls-remote, as the user of the agent.');
}

/** The shell's exit code for a missing program. */
const notFoundExitCode = 127;
const repeated = 'The request is repeated automatically.';

const failure = (message: string, hint: string): OriginFailure => new OriginFailure('no answer', message, hint);

/** Returns the line with git's fatal error, without control characters from servers. */
function reasonOf(errors: string): string {
  const lines = errors.trim().split('\n');
  const reason = lines.find((line) => line.startsWith('fatal: ')) ?? lines.at(-1) ?? '';
  const shown = reason.replaceAll(/\p{Cc}/gu, ' ').slice(0, 300);
  return shown === '' ? 'git exited with an error' : `git: ${shown.replace(/^fatal: /, '')}`;
}
