import type { Readable } from 'node:stream';
import { execa, ExecaError, type ResultPromise } from 'execa';
import { errorMessage, isSystemError, UserError } from '../errors.ts';
import { type ContainerdVersion, isAtLeast } from './containerd-version.ts';
import { criNamespace } from './cri-namespace.ts';
import { findContainerd, type InstalledContainerd } from './find-containerd.ts';

/** The images of a containerd, and the client for what the CRI cannot do with them. */
export interface ImageStore {
  /** Path of `ctr`, from the same release as the containerd. */
  readonly ctr: string;
  readonly ctrVersion: Pick<ContainerdVersion, 'major' | 'minor'>;
  /** Path of containerd's socket. */
  readonly address: string;
  readonly namespace?: string;
  readonly snapshotter?: string;
}

/** Runs `ctr` and resolves to its output. Rejects with execa's error; see `reasonOf`. */
export async function runCtr(
  store: ImageStore,
  args: readonly string[],
  { signal, input }: { signal?: AbortSignal | undefined; input?: Readable } = {},
): Promise<string> {
  const { stdout } = await execa(store.ctr, [...globalArguments(store), ...args], {
    ...(input === undefined ? { stdin: 'ignore' as const } : { input }),
    ...(signal === undefined ? {} : { cancelSignal: signal }),
  });
  return stdout;
}

/** Starts `ctr` for a caller that reads its output. Kills it when the signal is aborted. */
export function streamCtr(
  store: ImageStore,
  args: readonly string[],
  signal: AbortSignal,
): ResultPromise<{ stdin: 'ignore'; buffer: { stdout: false } }> {
  return execa(store.ctr, [...globalArguments(store), ...args], {
    stdin: 'ignore',
    buffer: { stdout: false },
    cancelSignal: signal,
  });
}

const globalArguments = (store: ImageStore): string[] => [
  ...['--address', store.address],
  ...['--namespace', store.namespace ?? criNamespace],
];

/** Arguments that keep a command from using the transfer service of containerd 1.7 and newer, which prints no names. */
export function withoutTransferService({ ctrVersion }: ImageStore): string[] {
  return isAtLeast(ctrVersion, 1, 7) ? ['--local'] : [];
}

/** Returns the reason, which is ctr's last line. Execa's message repeats the whole command. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof ExecaError)) return errorMessage(error);
  const lastLine = String(error.stderr).trim().split('\n').at(-1) ?? '';
  if (lastLine !== '') return lastLine.replace(/^ctr: /, '');
  // Undefined if the program exited with a code, although its type says otherwise.
  const original = error.originalMessage as string | undefined;
  return original === undefined || original === '' ? error.message : original;
}

/** True if a file or folder of the user failed. Errors of `ctr` can have system error codes, too. */
export const isFileError = (error: unknown): boolean => isSystemError(error) && !(error instanceof ExecaError);

/** Returns the path of the client of an installed containerd. Throws a `UserError` if it is missing. */
export function requireCtr({ ctr, containerd }: Pick<InstalledContainerd, 'ctr' | 'containerd'>): string {
  if (ctr !== undefined) return ctr;
  throw new UserError(`There is no ctr next to ${containerd} or on PATH, which imports and exports images`, {
    hint: "Install containerd's client (the package is containerd-ctr on Alpine and openSUSE).",
  });
}

/** Returns the store of the containerd at a CRI endpoint. Rejects with a `UserError` for other runtimes. */
export async function imageStoreOf(endpoint: string, task: string): Promise<ImageStore> {
  if (!endpoint.includes('containerd')) {
    throw new UserError(`${task} is not possible with the runtime at ${endpoint}: the CRI has no way to`, {
      hint: 'Use the tools of that runtime, such as podman or skopeo.',
    });
  }
  const installed = await findContainerd();
  const address = endpoint.replace(/^unix:\/\//, '');
  return { ctr: requireCtr(installed), ctrVersion: installed.version, address };
}
