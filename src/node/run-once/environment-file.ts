import { checkEnvVarName } from '../../api/values/names.ts';
import { UserError } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import { constants, createReadStream, fstatSync, open } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { promisify } from 'node:util';

const openDescriptor = promisify(open);

/** Longest content. A device may be endless. */
const maxFileBytes = 1024 * 1024;

/** The environment for lines without a value. */
type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The variables of `--env-file` and `--env`. If a name occurs twice, the last one counts; those of `--env` come last.
 * Rejects if `signal` is aborted first, because a pipe may never get a writer.
 */
export async function givenVariables(
  { envFile = [], env = [] }: { envFile?: readonly string[]; env?: readonly string[] },
  environment: Environment,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const files = await Promise.all(envFile.map((path) => readEnvironmentFile(path, environment, signal)));
  const given = env.flatMap((text) => parseVariable(text, environment, '--env'));
  return new Map([...files.flat(), ...given]);
}

/**
 * A file in the format of `docker run --env-file`: a line is `NAME=VALUE`, with the value unchanged, or `NAME` for its
 * value in the environment, if it is set. Skips lines that are empty or start with `#`.
 */
async function readEnvironmentFile(
  path: string,
  environment: Environment,
  signal: AbortSignal,
): Promise<[string, string][]> {
  const bytes = await readFileOrPipe(path, signal).catch((cause: unknown) => {
    throw new UserError(`--env-file: ${path}: ${readFailure(cause)}`, { cause });
  });
  return bytes
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, index) =>
      line.trim() === '' || line.trimStart().startsWith('#')
        ? []
        : parseVariable(line.trimStart(), environment, `${path}:${index + 1}`),
    );
}

/** Returns nothing for a name that is not set in the environment. */
function parseVariable(text: string, environment: Environment, place: string): [string, string][] {
  const [name = ''] = text.split('=', 1);
  const problem = checkEnvVarName(name);
  if (problem !== undefined) {
    throw new UserError(`${place}: "${name}" is not the name of a variable: ${problem}`, {
      hint: 'Write NAME=VALUE, or NAME for its value in the environment.',
    });
  }
  const value = name === text ? environment[name] : text.slice(name.length + 1);
  return value === undefined ? [] : [[name, value]];
}

/**
 * The content of a file or a pipe. Rejects with an `AbortError` if `signal` is aborted first. No thread waits for a
 * pipe to get a writer, because the process could not exit before that thread.
 */
async function readFileOrPipe(path: string, signal: AbortSignal): Promise<Buffer> {
  const fd = await openDescriptor(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const input: Readable = fstatSync(fd).isFIFO()
    ? new Socket({ fd, readable: true, writable: false, signal })
    : createReadStream(path, { fd, signal });
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of input as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxFileBytes) throw new Error('it has more than 1 MiB');
  }
  return Buffer.concat(chunks);
}
