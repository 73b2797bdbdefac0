import type { Readable } from 'node:stream';
import { execa, ExecaError, type ResultPromise } from 'execa';
import { errorMessage, isSystemError, UserError } from '../errors.ts';
import { type ContainerdVersion, isAtLeast } from './containerd-version.ts';
import { criNamespace } from './cri-namespace.ts';
import { findContainerd, type InstalledContainerd } from './find-containerd.ts';

/** The images of a containerd, and the client for what the CRI cannot do with them. */
export interface ImageStore {
  /** Path of `ctr`, of the same release as that containerd. */
  readonly ctr: string;
  readonly ctrVersion: Pick<ContainerdVersion, 'major' | 'minor'>;
  /** Path of containerd's socket. */
  readonly address: string;
  readonly namespace?: string;
  readonly snapshotter?: string;
}

/** Runs `ctr`. Resolves with its output. Rejects with execa's error, see `reasonOf`. */
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

/** Starts a `ctr` whose output the caller reads. It is killed when the signal aborts. */
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

/** Keeps a command from the transfer service of containerd 1.7 and newer, which prints no names. */
export function withoutTransferService({ ctrVersion }: ImageStore): string[] {
  return isAtLeast(ctrVersion, 1, 7) ? ['--local'] : [];
}

/** The reason is in ctr's last line; the message of execa repeats the whole command. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof ExecaError)) return errorMessage(error);
  const lastLine = String(error.stderr).trim().split('\n').at(-1) ?? '';
  if (lastLine !== '') return lastLine.replace(/^ctr: /, '');
  // Undefined for a program that ended with a code, unlike its type.
  const original = error.originalMessage as string | undefined;
  return original === undefined || original === '' ? error.message : original;
}

/** True if a file or folder of the user failed, and not `ctr`, whose errors have codes of the system, too. */
export const isFileError = (error: unknown): boolean => isSystemError(error) && !(error instanceof ExecaError);

/** Path of the client of an installed containerd. Throws a `UserError` if it is missing. */
export function requireCtr({ ctr, containerd }: Pick<InstalledContainerd, 'ctr' | 'containerd'>): string {
  if (ctr !== undefined) return ctr;
  throw new UserError(`There is no ctr beside ${containerd} or on PATH, which imports and exports images`, {
    hint: "Install containerd's client (the package is containerd-ctr on Alpine and openSUSE).",
  });
}

/** The store of the containerd at a CRI endpoint. Rejects with a `UserError` for other runtimes. */
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
