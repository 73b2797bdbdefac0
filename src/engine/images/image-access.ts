import { parseImageName } from '../../api/values/image-name.ts';
import { isAllowlisted, type PullVerification } from '../../api/values/pull-verification.ts';
import { imageKey } from './image-keys.ts';
import { type ImagePulledRecord, type ImagePullSecret, isSameSecret } from './pull-record.ts';

/** What is known about a present image that a pod wants to use. */
export interface ImageAccessFacts {
  /** The pod's name for it. */
  image: string;
  /** All names of the image in the runtime, in full. */
  names: readonly string[];
  /** True if the agent loaded this name from an archive. */
  isLoaded: boolean;
  /** `unknown`: its file is damaged. Undefined: the agent did not pull it. */
  record: ImagePulledRecord | 'unknown' | undefined;
  /** Images whose pull began and did not end yet, or was interrupted. */
  pulling: readonly string[];
  /** The pod's Secrets with credentials for this image. */
  secrets: readonly ImagePullSecret[];
}

/** Whether a pod may use a present image. The words are those of the kubelet's metric. */
export type ImageAccess =
  | { result: 'credentialPolicyAllowed' }
  /** `newSecret` must be recorded: the same Secret with other content, or another one with the same content. */
  | { result: 'credentialRecordFound'; newSecret?: ImagePullSecret }
  | { result: 'mustAuthenticate' };

/**
 * Decides whether a pod may use a present image, or must pull it again with its own credentials. kubelet:
 * images/pullmanager/image_pull_manager.go MustAttemptImagePull
 */
export function computeImageAccess(facts: ImageAccessFacts, verification: PullVerification): ImageAccess {
  const { record, secrets } = facts;
  const repository = repositoryOf(facts.image);
  if (!mustVerify(repository, wasPulled(repository, facts), verification)) return { result: 'credentialPolicyAllowed' };
  const known = record === 'unknown' ? undefined : record?.credentialMapping.get(repository);
  if (known === undefined) return { result: 'mustAuthenticate' };
  if (known.nodePodsAccessible) return { result: 'credentialRecordFound' };
  for (const secret of secrets) {
    const sameContent = known.kubernetesSecrets.filter(
      ({ credentialHash }) => credentialHash === secret.credentialHash,
    );
    if (sameContent.some((one) => isSameSecret(one, secret))) return { result: 'credentialRecordFound' };
    if (sameContent.length > 0 || known.kubernetesSecrets.some((one) => isSameSecret(one, secret)))
      return { result: 'credentialRecordFound', newSecret: secret };
  }
  return { result: 'mustAuthenticate' };
}

/** kubelet: images/pullmanager/image_pull_policies.go */
function mustVerify(repository: string, isPulled: boolean, { policy, allowlist }: PullVerification): boolean {
  switch (policy) {
    case 'NeverVerify':
      return false;
    case 'NeverVerifyPreloadedImages':
      return isPulled;
    case 'NeverVerifyAllowlistedImages':
      return !isAllowlisted(repository, allowlist);
    case 'AlwaysVerify':
      return true;
  }
}

/**
 * True if the agent pulled the image by this name. The kubelet does not distinguish names: with it, an image that was
 * loaded or tagged cannot be used any more once the same image is pulled by another name. An id stands for any name.
 */
function wasPulled(repository: string, { image, names, isLoaded, record, pulling }: ImageAccessFacts): boolean {
  if (isLoaded) return false;
  // The kubelet records an interrupted pull without a name.
  if (record === 'unknown' || record?.credentialMapping.size === 0) return true;
  const key = imageKey(image);
  const begun = pulling.map(imageKey).filter((name) => name === key || names.includes(name));
  const pulled = new Set([...begun.map(repositoryOf), ...(record?.credentialMapping.keys() ?? [])]);
  const isPulledByAnyName = record !== undefined || begun.length > 0;
  return pulled.has(repository) || (isPulledByAnyName && !names.includes(key));
}

/** Returns `docker.io/library/busybox` for `busybox:1`. */
export const repositoryOf = (image: string): string => parseImageName(image)?.repository ?? '';
