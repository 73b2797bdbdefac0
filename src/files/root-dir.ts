import { resolve } from 'node:path';

/** Default folder of the agent's state. The root-dir also identifies the agent and the managed containerd. */
export const defaultRootDir = '/var/lib/kubelet-ts';

/**
 * Normalizes the root-dir that a user named, because its sockets are found by its path. An empty name means the
 * default.
 */
export function rootDirNamed(name: string): string {
  return name === '' ? defaultRootDir : resolve(name);
}
