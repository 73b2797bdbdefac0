import type { PodSandboxConfig } from '../../cri/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';

/** Number of digits of an owner id. Each root-dir has one owner id. */
export const ownerDigits = 18;
/** Number of digits that the kubelet writes for fractions of a second. */
const kubeletDigits = 9;

const timeParts = /^(.*:\d{2})(?:\.(\d+))?(Z|[-+]\d{2}:\d{2})$/;
const epoch = '1970-01-01T00:00:00Z';

/**
 * Returns the same sandbox with its owner id in `kubernetes.io/config.seen`. That annotation is an RFC 3339 time, whose
 * fraction may have any number of digits. The kubelet writes nine. The owner id follows them, because parsers of a time
 * ignore the extra digits. All other labels and annotations are exactly the kubelet's.
 */
export function withOwner(config: PodSandboxConfig, owner: string): PodSandboxConfig {
  const seen = config.annotations?.[configAnnotations.seen] ?? epoch;
  const [, seconds, fraction = '', zone] = timeParts.exec(seen) ?? timeParts.exec(epoch) ?? [];
  const digits = fraction.slice(0, kubeletDigits).padEnd(kubeletDigits, '0');
  const marked = `${seconds ?? ''}.${digits}${owner}${zone ?? ''}`;
  return { ...config, annotations: { ...config.annotations, [configAnnotations.seen]: marked } };
}

/**
 * Returns the owner id in the sandbox's annotations. Returns undefined if a kubelet created the sandbox, or a release
 * without owner ids.
 */
export function ownerOf(annotations: Readonly<Record<string, string | undefined>>): string | undefined {
  const [, , fraction = ''] = timeParts.exec(annotations[configAnnotations.seen] ?? '') ?? [];
  return fraction.length === kubeletDigits + ownerDigits ? fraction.slice(kubeletDigits) : undefined;
}
