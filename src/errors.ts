import { boundedText } from './text/bounded-text.ts';
import { textLimits } from './text/text-limits.ts';

/**
 * A problem outside this program that the user can fix: a bad manifest, no socket, no root. Commands print `message`
 * and `hint` without a stack. Any other error that reaches the top is a bug.
 */
export class UserError extends Error {
  override readonly name = 'UserError';
  /** How to fix it, in one sentence that is printed on a separate line. */
  readonly hint: string | undefined;
  /** Exit code of a command that fails with this error. */
  readonly exitCode: number;

  constructor(message: string, options: { hint?: string; exitCode?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.hint = options.hint;
    this.exitCode = options.exitCode ?? 1;
  }
}

/** An operator's request that was refused. Nothing changed. */
export class RequestRefused extends Error {
  override readonly name = 'RequestRefused';

  constructor(
    readonly kind: 'missing' | 'conflict' | 'invalid' | 'unready',
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

/** Returns the message of a thrown value. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the result of `work`. If it throws, rethrows the error with `what` before its message. */
export function explained<T>(what: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`${what}: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns a thrown value as an error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** True for a system error, such as one of the file system, whose code looks like `ENOENT`. */
export function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z0-9]+$/.test(error.code);
}

/** Adds the path to an error of an operation on a descriptor, which names none. Returns the error. */
export function withPath(error: unknown, path: string): unknown {
  if (isSystemError(error) && error.path === undefined) {
    error.path = path;
    error.message += ` '${path}'`;
  }
  return error;
}

/** True if the process or the machine has run out of descriptors, memory, or buffers. */
export function isOutOfResources(error: unknown): boolean {
  return hasCode(error, 'EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAGAIN');
}

/**
 * True if this machine could not open a connection, so that the state of the other side is unknown. Also checks the
 * causes.
 */
export function isLocalConnectFailure(error: unknown): boolean {
  if (isOutOfResources(error) || hasCode(error, 'EADDRNOTAVAIL')) return true;
  return error instanceof Error && error.cause !== undefined && isLocalConnectFailure(error.cause);
}

/** True if the kernel has no watch left for this user. */
export function isOutOfWatches(error: unknown): boolean {
  return hasCode(error, 'ENOSPC') || isOutOfResources(error);
}

/** True for an error of the file system or network with one of these codes, such as `ENOENT`. */
export function hasCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && codes.includes(error.code);
}

/** A CRI call that returned a status other than OK. `message` is the runtime's, cut to 4 KiB. */
export class RpcError extends Error {
  override readonly name = 'RpcError';

  /** `method` is the name of the call, such as `RunPodSandbox`. */
  constructor(
    readonly method: string,
    readonly code: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(boundedText(message, textLimits.message), options);
  }
}

/**
 * False for an error that the user, the system or the runtime caused, directly or as a cause. Any other error is a bug.
 */
export function isBug(error: unknown): boolean {
  if (error instanceof UserError || error instanceof RpcError || isSystemError(error)) return false;
  return !(error instanceof Error) || error.cause === undefined || isBug(error.cause);
}
