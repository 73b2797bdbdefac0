import { systemClock } from '../../clock.ts';
import { boundedOutput } from '../../engine/host/bounded-program.ts';
import { errorMessage, UserError } from '../../errors.ts';
import { programVersion } from '../../process/program-version.ts';
import { readableState, stateFormat } from './state-format.ts';

/** The hidden command with which a running release asks a new one about the state: `__state ROOT_DIR...`. */
export const stateCommand = '__state';

/** What a program answers to `__state`. */
export interface StateAnswer {
  version: string;
  /** The highest format that it reads. */
  stateFormat: number;
  /** By root-dir: what it can read. */
  readable: Record<string, string[]>;
}

/** Our own answer. */
export async function answerState(rootDirs: readonly string[]): Promise<StateAnswer> {
  const read = rootDirs.map(async (rootDir): Promise<[string, string[]]> => [rootDir, await readableState(rootDir)]);
  return { version: programVersion, stateFormat, readable: Object.fromEntries(await Promise.all(read)) };
}

/** A slow processor needs seconds for a start. */
const timeoutMs = 120_000;
/** Far more than the names in the state of a full node. */
const maxOutputBytes = 16 * 1024 * 1024;

/** Runs a new program. Returns its version. Rejects with a `UserError` if it does not run, or is another program. */
export async function versionOfProgram(file: string, shown: string): Promise<string> {
  const output = await outputOf(file, ['--version'], shown);
  const version = /^kubelet-ts (\S+), Kubernetes v/.exec(output)?.[1];
  if (version !== undefined) return version;
  throw new UserError(`${shown} is not kubelet-ts: its --version prints something else`);
}

/**
 * Asks a new program about the state of these root-dirs. Returns undefined if it has no such command, as releases
 * before 0.1.
 */
export async function stateAnswerOf(
  file: string,
  shown: string,
  rootDirs: readonly string[],
): Promise<StateAnswer | undefined> {
  try {
    return JSON.parse(await outputOf(file, [stateCommand, ...rootDirs], shown)) as StateAnswer;
  } catch (error) {
    if (error instanceof UserError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function outputOf(file: string, words: readonly string[], shown: string): Promise<string> {
  const tooLong = 'it prints too much';
  const bounds = { clock: systemClock, timeoutMs, maxOutputBytes, tooLong, quotesErrors: true };
  try {
    return (await boundedOutput(file, words, bounds)).toString('utf8');
  } catch (error) {
    throw new UserError(`${shown} does not run on this machine: ${errorMessage(error).trim()}`, {
      hint: 'The program that runs now stays. Name another release.',
      cause: error,
    });
  }
}
