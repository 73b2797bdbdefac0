import type { PodSandboxConfig } from '../../cri/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';

/** Digits of an owner: the identity of a root-dir. */
export const ownerDigits = 18;
/** Digits of a second as the kubelet writes them. */
const kubeletDigits = 9;

const timeParts = /^(.*:\d{2})(?:\.(\d+))?(Z|[-+]\d{2}:\d{2})$/;
const epoch = '1970-01-01T00:00:00Z';

/**
 * The same sandbox with its owner in `kubernetes.io/config.seen`: that is a time of RFC 3339, whose fraction may have any
 * number of digits. The kubelet writes nine; the owner stands behind them, where readers of a time pass over it. All
 * other labels and annotations are exactly the kubelet's, so that a request of ours is one of the kubelet.
 */
export function withOwner(config: PodSandboxConfig, owner: string): PodSandboxConfig {
  const seen = config.annotations?.[configAnnotations.seen] ?? epoch;
  const [, seconds, fraction = '', zone] = timeParts.exec(seen) ?? timeParts.exec(epoch) ?? [];
  const digits = fraction.slice(0, kubeletDigits).padEnd(kubeletDigits, '0');
  const marked = `${seconds ?? ''}.${digits}${owner}${zone ?? ''}`;
  return { ...config, annotations: { ...config.annotations, [configAnnotations.seen]: marked } };
}

/** Whose sandbox it is by its annotations; undefined: that of a kubelet, or of a release that did not say so. */
export function ownerOf(annotations: Readonly<Record<string, string | undefined>>): string | undefined {
  const [, , fraction = ''] = timeParts.exec(annotations[configAnnotations.seen] ?? '') ?? [];
  return fraction.length === kubeletDigits + ownerDigits ? fraction.slice(kubeletDigits) : undefined;
}
