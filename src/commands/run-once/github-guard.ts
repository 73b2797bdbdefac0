/** Neutralizes CI workflow commands in container output. */
export interface OutputGuard {
  /** Changes a line without its line end. */
  line: (line: Buffer) => Buffer;
  /** Changes text with any number of lines. */
  text: (text: string) => string;
  /** Changes JSON, but not the value that it encodes. */
  json: (json: string) => string;
}

export type Environment = Readonly<Record<string, string | undefined>>;

export const isGitHub = (env: Environment): boolean => env['GITHUB_ACTIONS'] === 'true';

/** Neutralizes commands in text that others wrote. Undefined unless this process runs in a CI service that needs it. */
export const outputGuard = (env: Environment): OutputGuard | undefined => (isGitHub(env) ? gitHubGuard : undefined);

/**
 * Escapes GitHub's workflow commands, because a container is not part of the workflow. `::stop-commands::` is not
 * enough: the runner reads stdout and stderr separately, so late commands on one may come after the other has resumed
 * them.
 */
export const gitHubGuard: OutputGuard = {
  line: (line) => {
    if (!line.includes('::') && !line.includes('##[')) return line;
    const text = line.toString('utf8');
    const safe = safeLine(text);
    return safe === text ? line : Buffer.from(safe);
  },
  text: (text) => text.split('\n').map(safeLine).join('\n'),
  // A line of JSON never starts with a string value, so it can contain only the older commands.
  json: (json) => json.replaceAll('##[', String.raw`##\u005b`),
};

/**
 * Starts of workflow commands. The runner treats a carriage return as a line end, and skips spaces. The class of spaces
 * here excludes carriage returns, so that a run of them is not scanned once per character.
 */
const commandStart = /(?:^|\r)(?:[^\S\r]|\u0085)*::|##\[/g;

const safeLine = (line: string): string => line.replace(commandStart, (start) => start.replace(/::$|\[$/, '\\$&'));
