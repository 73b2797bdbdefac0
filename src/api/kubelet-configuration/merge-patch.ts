import type { GivenConfiguration } from './types.ts';

/**
 * A configuration with a drop-in or flags laid over it: maps are merged key by key, everything else is replaced, null takes
 * away. kubelet: cmd/kubelet/app/server.go mergeKubeletConfigurations, which is a JSON merge patch (RFC 7396)
 */
export function mergePatch(target: GivenConfiguration, patch: GivenConfiguration): GivenConfiguration {
  return merge(target, patch) as GivenConfiguration;
}

function merge(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const merged = new Map(Object.entries(isObject(target) ? target : {}));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, merge(merged.get(key), value));
  }
  return Object.fromEntries(merged);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
