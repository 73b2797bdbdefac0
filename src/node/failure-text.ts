import { getSystemErrorMap, inspect, styleText } from 'node:util';
import { errorMessage, hasCode, isBug, isSystemError, RpcError, UserError } from '../errors.ts';
import { visible, visibleLines } from '../text/visible-text.ts';

/** The report of an error that a command exits with. */
export interface FailureReport {
  /** One sentence, without a stack. */
  message: string;
  hint?: string;
  exitCode: number;
}

/** Environment variable that adds stacks and causes to errors. */
export const debugVariable = 'KUBELET_TS_DEBUG';

/**
 * Describes an error in one sentence. An error that was not caused by the user, the system or the runtime is reported
 * as a bug.
 */
export function describeFailure(error: unknown): FailureReport {
  if (error instanceof UserError) {
    return { message: error.message, ...(error.hint !== undefined && { hint: error.hint }), exitCode: error.exitCode };
  }
  if (error instanceof RpcError) {
    return { message: `the container runtime failed ${error.method}: ${visible(error.message)}`, exitCode: 1 };
  }
  if (isSystemError(error)) return { ...systemFailure(error), exitCode: 1 };
  if (!isBug(error)) return { message: errorMessage(error), exitCode: 1 };
  return {
    message: `this is a bug in kubelet-ts: ${String(error)}`,
    hint: `Report it with the output of the same command, run with ${debugVariable}=1 in its environment.`,
    exitCode: 1,
  };
}

/** The lines for stderr, including the stack if `debug` is set. */
export function failureText(error: unknown, { debug = false, isColoured = false } = {}): string {
  const { message, hint } = describeFailure(error);
  const line = (label: 'error' | 'hint', text: string): string => {
    const style = label === 'error' ? 'red' : 'cyan';
    const shown = isColoured ? styleText(style, `${label}:`, { validateStream: false }) : `${label}:`;
    return `${shown} ${visibleLines(text)}\n`;
  };
  const stack = debug ? `${visibleLines(inspect(error))}\n` : '';
  return `${line('error', message)}${hint === undefined ? '' : line('hint', hint)}${stack}`;
}

function systemFailure(error: NodeJS.ErrnoException & { code: string }): Omit<FailureReport, 'exitCode'> {
  const { code, errno = 0, syscall = '', path = addressOf(error) } = error;
  const [, reason = code] = getSystemErrorMap().get(errno) ?? [];
  const [call = ''] = syscall.split(' ');
  const did = actions[call] ?? call;
  const what = [did, path].filter((word) => word !== '').join(' ');
  const hint = hintFor(error);
  return { message: what === '' ? reason : `cannot ${what}: ${reason}`, ...(hint !== undefined && { hint }) };
}

/** The action of each system call on its path or address, for messages. */
const actions: Readonly<Record<string, string>> = {
  access: 'reach',
  bind: 'listen on',
  chmod: 'set the mode of',
  chown: 'set the owner of',
  connect: 'connect to',
  copyfile: 'copy',
  fsync: 'write',
  fstat: 'check',
  link: 'create the link',
  listen: 'listen on',
  lstat: 'check',
  mkdir: 'create the folder',
  mkdtemp: 'create the folder',
  open: 'open',
  opendir: 'read the folder',
  read: 'read',
  readlink: 'read the link',
  realpath: 'check',
  rename: 'rename',
  rm: 'remove',
  rmdir: 'remove',
  scandir: 'read the folder',
  spawn: 'start',
  stat: 'check',
  symlink: 'create the link',
  unlink: 'remove',
  watch: 'watch',
  write: 'write',
};

function addressOf(error: Error): string {
  const { address, port } = error as { address?: string; port?: number };
  if (address === undefined) return '';
  // A unix socket has port -1.
  return port === undefined || port < 0 ? address : `${address}:${port}`;
}

function hintFor(error: NodeJS.ErrnoException): string | undefined {
  const isWatch = error.syscall === 'watch';
  if (hasCode(error, 'EMFILE') && isWatch) return 'Raise fs.inotify.max_user_instances with sysctl.';
  if (hasCode(error, 'ENOSPC') && isWatch) return 'Raise fs.inotify.max_user_watches with sysctl.';
  if (hasCode(error, 'EMFILE')) return 'Allow more open files: ulimit -n 1024.';
  if (hasCode(error, 'ENFILE')) return 'Raise fs.file-max with sysctl, or stop the programs with many open files.';
  if (hasCode(error, 'EACCES', 'EPERM')) return 'Run as root, or check the permissions.';
  if (hasCode(error, 'EROFS')) return 'Mount it writable, or name a writable folder with --root-dir.';
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return 'Free space on the disk.';
  return undefined;
}
