import { parseImageName } from './image-name.ts';

/**
 * Which present images a pod may use only with credentials that pulled them before. kubelet: KubeletConfiguration
 * imagePullCredentialsVerificationPolicy
 */
export const verificationPolicies = [
  'NeverVerify',
  'NeverVerifyPreloadedImages',
  'NeverVerifyAllowlistedImages',
  'AlwaysVerify',
] as const;

export interface PullVerification {
  policy: (typeof verificationPolicies)[number];
  /** Images that NeverVerifyAllowlistedImages does not verify. kubelet: preloadedImagesVerificationAllowlist */
  allowlist: readonly string[];
}

/**
 * True if an entry of the allowlist is a complete image name without tag and digest, or a prefix of such names that
 * ends in `/*`. kubelet: images/pullmanager/image_pull_policies.go getAllowlistImagePattern
 */
export function isAllowlistEntry(entry: string): boolean {
  if (!entry.endsWith('/*')) return parseImageName(entry)?.repository === entry;
  const prefix = entry.slice(0, -1);
  return prefix.length > 1 && !prefix.includes('*') && prefix.trim() === prefix;
}

/** True if the allowlist names a repository such as `docker.io/library/busybox`. */
export function isAllowlisted(repository: string, allowlist: readonly string[]): boolean {
  return allowlist.some((entry) =>
    entry.endsWith('/*') ? repository.startsWith(entry.slice(0, -1)) : repository === entry,
  );
}
