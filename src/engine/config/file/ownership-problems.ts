import type { Stats } from 'node:fs';
import type { ManifestProblem } from '../../view/events.ts';

/**
 * Warnings for a manifest, or a folder of manifests, that others than root and we ourselves can change: whoever can write
 * a manifest is root on this machine.
 */
export function ownershipProblems(path: string, { mode, uid }: Stats): ManifestProblem[] {
  const warn = (message: string, hint: string): ManifestProblem => ({
    origin: path,
    severity: 'warning',
    message,
    hint,
  });
  const problems: ManifestProblem[] = [];
  if ((mode & 0o002) !== 0) {
    problems.push(warn('everybody on this machine can write to it', 'Take the right away: chmod o-w.'));
  }
  if (uid !== 0 && uid !== process.geteuid?.()) {
    problems.push(warn(`belongs to user ${uid}, who can run anything as root with it`, 'Give it to root: chown root.'));
  }
  return problems;
}
