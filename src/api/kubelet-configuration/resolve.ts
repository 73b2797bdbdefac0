import type { ManifestDocument } from '../decoding/manifest-document.ts';
import type { ManifestProblem } from '../text/manifest-problem.ts';
import { type FeatureGates, resolveFeatureGates } from '../values/feature-gates.ts';
import { configurationObject, configurationSchema } from './schema.ts';
import { completeConfiguration, setDefaults, setGates } from './set-defaults.ts';
import type { GivenConfiguration, KubeletConfiguration } from './types.ts';
import { validateKubeletConfiguration } from './validate.ts';

/** What one place says of the configuration: a file, a drop-in, the flags. */
export interface ConfigurationLayer {
  given: GivenConfiguration;
  /** Of the layer as a whole: a path, or `flags`. */
  origin: string;
  /** Where it says so; undefined when it does not speak of the field. */
  placeOf(field: string): Pick<ManifestProblem, 'origin' | 'line' | 'column'> | undefined;
}

/** A configuration that is whole and checked; nothing when there is an error. */
export interface ResolvedConfiguration {
  resolved?: { configuration: KubeletConfiguration; featureGates: FeatureGates };
  problems: ManifestProblem[];
}

/**
 * Lays drop-ins in their order over the file and flags over all, sets the defaults, and checks the outcome. Every problem
 * is told where the last layer speaks of its field.
 *
 * kubelet: cmd/kubelet/app/server.go NewKubeletCommand, mergeKubeletConfigurations, kubeletConfigFlagPrecedence
 */
export function resolveKubeletConfiguration(layers: {
  file?: ConfigurationLayer | undefined;
  dropIns?: readonly ConfigurationLayer[];
  flags?: ConfigurationLayer | undefined;
}): ResolvedConfiguration {
  const { file, dropIns = [], flags } = layers;
  // Drop-ins are laid over a configuration that has its defaults already: those do not depend on what drop-ins say.
  let given = setDefaults(mergePatch({}, file?.given ?? {}));
  for (const dropIn of dropIns) given = setDefaults(mergePatch(given, dropIn.given));
  const configuration = completeConfiguration(
    flags ? layFlags(file || dropIns.length > 0 ? given : {}, flags.given) : given,
  );
  const all = [flags, ...dropIns.toReversed(), file].filter((layer) => layer !== undefined);
  const problems = problemsOf(configuration).map(({ field, ...problem }) => {
    const place = all.map((layer) => layer.placeOf(field)).find((found) => found !== undefined);
    return { ...(place ?? { origin: all.at(0)?.origin ?? 'configuration' }), field, ...problem };
  });
  if (problems.some(({ severity }) => severity === 'error')) return { problems };
  const { featureGates } = resolveFeatureGates(configuration.featureGates);
  return { resolved: { configuration, featureGates }, problems };
}

/** The layer that a document is. */
export function documentLayer(given: GivenConfiguration, document: ManifestDocument): ConfigurationLayer {
  return {
    given,
    origin: document.origin,
    placeOf: (field) => (document.has(field) ? { origin: document.origin, ...document.positionOf(field) } : undefined),
  };
}

/** A flag replaces a map as a whole, but for the feature gates, which are set one by one. */
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
 * A configuration with a drop-in or flags laid over it: maps are merged key by key, everything else is replaced, null takes
 * away. kubelet: cmd/kubelet/app/server.go mergeKubeletConfigurations, which is a JSON merge patch (RFC 7396)
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
