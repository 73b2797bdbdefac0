import { UserError } from '../errors.ts';
import { defaultRootDir } from '../files/root-dir.ts';
import { shellWord } from '../text/shell-word.ts';

/** Why a containerd does not start or work, according to its log or an error of its client. */
export interface StartProblem {
  readonly kind: 'damaged store' | 'inotify' | 'read-only disk' | 'full disk' | 'disk error';
  /** The line that says so. */
  readonly line: string;
}

/** The store of a managed containerd cannot be read: its databases or files are damaged. */
export class DamagedStoreError extends UserError {}

/** How the database of containerd (bbolt) and its content store report damage. */
const damage =
  /invalid database|version mismatch|checksum error|file size too small|invalid freelist|unexpected EOF|unexpected end of JSON input|missing parent/i;
const databasePackage = 'go.etcd.io/bbolt';
/**
 * The fatal errors of Go that a damaged page can cause. After others, such as running out of memory, Go lists all
 * threads, and with them perhaps the database.
 */
const crash =
  /^(panic|fatal error: (fault|stack overflow|unexpected signal)|unexpected fault address|SIGBUS|\[signal SIG)\b/;

/** Finds the problem in the log of a containerd since its launch, or in the error message of its client. */
export function findStartProblem(lines: readonly string[]): StartProblem | undefined {
  const panic = lines.findIndex((line) => crash.test(line));
  const crashLine = lines[panic];
  if (crashLine !== undefined && lines.slice(panic).some((line) => line.includes(databasePackage)))
    return { kind: 'damaged store', line: crashLine };
  for (const { kind, pattern } of problems) {
    const line = lines.find((candidate) => pattern.test(candidate));
    if (line !== undefined) return { kind, line };
  }
  return undefined;
}

/**
 * Returns the lines that tell why a containerd exited after it had worked: the first line of a crash, or the last ones.
 */
export function endOfLog(lines: readonly string[]): readonly string[] {
  const crashLine = lines.find((line) => crash.test(line));
  return crashLine === undefined ? lines.slice(-5) : [crashLine];
}

/** Parts of the store, as the lines about them name them. */
const storePart = '(failed to load plugin|snapshot|content|blob|rootfs)';

/** True if an error of an import can come from a damaged store, though also from a damaged archive. */
export const mayBeDamage = (message: string): boolean =>
  damage.test(message) || message.includes('unexpected end of file');

/**
 * The first match counts: the state of a disk also makes plugins fail. What a disk cannot read now, it may read after
 * a reset or an fsck.
 */
const problems: readonly { kind: StartProblem['kind']; pattern: RegExp }[] = [
  { kind: 'read-only disk', pattern: /read-only file system/ },
  { kind: 'full disk', pattern: /no space left on device/ },
  {
    kind: 'disk error',
    pattern: new RegExp(`${storePart}.*(input/output error|structure needs cleaning|bad message)`, 'i'),
  },
  { kind: 'inotify', pattern: /fsnotify watcher: too many open files|inotify.*too many open files/ },
  { kind: 'damaged store', pattern: new RegExp(`${storePart}.*(${damage.source})`, 'i') },
];

/** Returns what to do about a problem. */
export function remedyFor({ kind }: StartProblem, rootDir: string): string {
  switch (kind) {
    case 'damaged store':
      return `Set the damaged store of containerd aside and start again: ${repairCommand(rootDir)}`;
    case 'inotify':
      return 'The limit of inotify instances is used up. Raise it: sysctl fs.inotify.max_user_instances=512';
    case 'read-only disk':
      return `The disk of ${rootDir} is read-only, often after an error: see dmesg, check it (fsck), and mount it writable.`;
    case 'disk error':
      return `The disk of ${rootDir} fails: see dmesg, and check it (fsck). If containerd fails after that: ${repairCommand(rootDir)}`;
    case 'full disk':
      return `Make room on the disk of ${rootDir}.`;
  }
}

/** The command that replaces a damaged store. */
export const repairCommand = (rootDir: string): string =>
  `kubelet-ts repair-store${rootDir === defaultRootDir ? '' : ` --root-dir ${shellWord(rootDir)}`}`;
