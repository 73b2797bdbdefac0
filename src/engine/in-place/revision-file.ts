import { createHash } from 'node:crypto';
import type { Container, Pod, PodSpec } from '../../api/types.ts';

/** The revision that a pod runs, and what is left of the earlier one. */
export interface AppliedRevision {
  pod: Pod;
  /** By container id, the resources of containers that still have those of an earlier revision. */
  outdated: Record<string, Container['resources']>;
  /** Resources of the whole pod in an earlier revision, while its cgroup still has them. */
  outdatedPod?: PodSpec['resources'];
  /** True until all containers and the pod's cgroup have the resources of the revision. */
  isResizing: boolean;
}

/** Format: a line with the hash of the rest, then JSON. */
export function encodeRevision(revision: AppliedRevision): Uint8Array {
  const content = JSON.stringify(revision);
  return Buffer.from(`${hashOf(content)}\n${content}`);
}

/** Returns undefined if the bytes are damaged, or were written by a different release. */
export function decodeRevision(bytes: Buffer): AppliedRevision | undefined {
  const text = bytes.toString('utf8');
  const end = text.indexOf('\n');
  const content = text.slice(end + 1);
  if (text.slice(0, Math.max(0, end)) !== hashOf(content)) return undefined;
  const value: unknown = JSON.parse(content);
  return isRevision(value) ? value : undefined;
}

/** Checks little, because the hash shows that we wrote the file. */
function isRevision(value: unknown): value is AppliedRevision {
  const { pod, outdated, isResizing } = Object(value) as Partial<Record<keyof AppliedRevision, unknown>>;
  return typeof pod === 'object' && typeof outdated === 'object' && typeof isResizing === 'boolean';
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');
