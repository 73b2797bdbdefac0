import type { ManifestDocument } from '../decoding/manifest-document.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { type FeatureGates, resolveFeatureGates } from '../values/feature-gates.ts';
import { configurationObject, configurationSchema } from './schema.ts';
import { completeConfiguration, setDefaults, setGates } from './set-defaults.ts';
import type { GivenConfiguration, KubeletConfiguration } from './types.ts';
import { validateKubeletConfiguration } from './validate.ts';

/** One layer of the configuration: a file, a drop-in, or the flags. */
export interface ConfigurationLayer {
  given: GivenConfiguration;
  /** Name of the whole layer: a path, or `flags`. */
  origin: string;
  /** Position of a field. Returns undefined if the layer does not set it. */
  positionOf(field: string): Pick<ManifestProblem, 'origin' | 'line' | 'column'> | undefined;
}

/** A complete, checked configuration. Absent if there is an error. */
export interface ResolvedConfiguration {
  resolved?: { configuration: KubeletConfiguration; featureGates: FeatureGates };
  problems: ManifestProblem[];
}

/**
 * Merges the drop-ins, in their order, and then the flags into the file, sets the defaults, and checks the result. A
 * problem carries the position of the last layer that sets its field.
 *
 * kubelet: cmd/kubelet/app/server.go NewKubeletCommand, mergeKubeletConfigurations, kubeletConfigFlagPrecedence
 */
export function resolveKubeletConfiguration(layers: {
  file?: ConfigurationLayer | undefined;
  dropIns?: readonly ConfigurationLayer[];
  flags?: ConfigurationLayer | undefined;
}): ResolvedConfiguration {
  const { file, dropIns = [], flags } = layers;
  // The file gets its defaults before the drop-ins are merged, so defaults do not depend on drop-ins.
  let given = setDefaults(mergePatch({}, file?.given ?? {}));
  for (const dropIn of dropIns) given = setDefaults(mergePatch(given, dropIn.given));
  if (flags) {
    const laid = layFlags(file || dropIns.length > 0 ? given : {}, flags.given);
    // A zero from a flag stays: the kubelet applies its flags over the defaults.
    given = layFlags(setDefaults(laid), flags.given);
  }
  const configuration = completeConfiguration(given);
  const all = [flags, ...dropIns.toReversed(), file].filter((layer) => layer !== undefined);
  const problems = problemsOf(configuration).map(({ field, ...problem }) => {
    const place = all.map((layer) => layer.positionOf(field)).find((found) => found !== undefined);
    return { ...(place ?? { origin: all.at(0)?.origin ?? 'configuration' }), field, ...problem };
  });
  if (problems.some(({ severity }) => severity === 'error')) return { problems };
  const { featureGates } = resolveFeatureGates(configuration.featureGates);
  return { resolved: { configuration, featureGates }, problems };
}

/** Creates a layer from a document. */
export function documentLayer(given: GivenConfiguration, document: ManifestDocument): ConfigurationLayer {
  return {
    given,
    origin: document.origin,
    positionOf: (field) =>
      document.has(field) ? { origin: document.origin, ...document.positionOf(field) } : undefined,
  };
}

/** A flag replaces a whole map. Feature gates are the exception: flags set them one by one. */
function layFlags(given: GivenConfiguration, flags: GivenConfiguration): GivenConfiguration {
  const fields = configurationSchema.get(configurationObject);
  const kept = Object.entries(given).filter(
    ([name]) => name === 'featureGates' || !(name in flags) || fields?.get(name)?.kind.type !== 'map',
  );
  return mergePatch(Object.fromEntries(kept), flags);
}

function problemsOf(
  configuration: KubeletConfiguration,
): (Pick<ManifestProblem, 'message' | 'hint' | 'severity'> & { field: string })[] {
  const { featureGates, problems } = resolveFeatureGates(setGates(configuration));
  return [
    ...problems.map(({ name, ...problem }) => ({ field: `featureGates[${name}]`, ...problem })),
    ...validateKubeletConfiguration(configuration, featureGates).map((error) => ({
      ...error,
      severity: 'error' as const,
    })),
  ];
}

/**
 * Merges a drop-in or flags into a configuration: maps key by key, anything else by replacement; null removes a value.
 * kubelet: cmd/kubelet/app/server.go mergeKubeletConfigurations, which is a JSON merge patch (RFC 7396)
 */
function mergePatch(target: GivenConfiguration, patch: GivenConfiguration): GivenConfiguration {
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
