import type * as core from 'kubernetes-types/core/v1.js';
import { applyDefaults } from './apply-defaults.ts';
import type { SourceName } from '../values/config-annotations.ts';
import type { FeatureGates } from '../values/feature-gates.ts';
import type { Pod, RawPod } from '../types.ts';

/** Hex digest of a text, such as SHA-256. The first 32 digits are used. */
export type Hash = (text: string) => string;

/** The node that a manifest is for. */
export interface StaticPodNode {
  nodeName: string;
  /** Defaults to the gates of Kubernetes. */
  featureGates?: FeatureGates | undefined;
  /**
   * How a CronJob is treated: as an error, because nothing starts pods on a schedule here, or as one immediate run.
   * Defaults to an error.
   */
  cronJobs?: 'refuse' | 'runOnce' | undefined;
  /** Folder of the agent's state. A warning about mounts of a kubelet's folders names it. */
  rootDir?: string | undefined;
  /** True to also return the positions of names, and those where pods name ConfigMaps, Secrets and claims. */
  allPositions?: boolean | undefined;
  /** True to warn of references that a kubelet refuses in static pods. */
  isPortable?: boolean | undefined;
}

/** The facts besides the manifest that define a static pod of this node. */
export interface StaticPodOptions extends StaticPodNode {
  source: SourceName;
  /** Absolute path of the manifest file, or its URL. */
  origin: string;
  hash: Hash;
}

/**
 * Builds the pod that the kubelet runs for a manifest: with all defaults, and named and placed on this node.
 *
 * kubelet: config/common.go applyDefaults
 */
export function toStaticPod(raw: RawPod, options: StaticPodOptions): Pod {
  const pod = applyDefaults(raw, options.featureGates);
  const { metadata, spec } = pod;
  const uid = metadata.uid ?? podUID(raw, options);
  spec.nodeName = options.nodeName;
  if (options.source !== 'http') spec.tolerations = tolerateNoExecute(spec.tolerations ?? []);
  return {
    ...pod,
    metadata: {
      ...metadata,
      uid,
      name: `${metadata.name ?? ''}-${options.nodeName.toLowerCase()}`,
      namespace: metadata.namespace ?? 'default',
      annotations: { ...metadata.annotations, 'kubernetes.io/config.hash': uid },
    },
    status: { ...pod.status, phase: 'Pending' },
  };
}

/**
 * Derives the UID of a pod whose manifest sets none: 32 hex digits from the manifest as written, the node and the
 * origin. Comments, white space and the order of fields do not matter. Defaults do not matter either, so an upgrade
 * does not restart an unchanged pod.
 */
export function podUID(raw: RawPod, options: Pick<StaticPodOptions, 'nodeName' | 'origin' | 'hash'>): string {
  return options.hash(canonicalJson([raw, options.nodeName, options.origin])).slice(0, 32);
}

/** JSON with the members of every object sorted by name. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(sorted);
  const members = value as Readonly<Record<string, unknown>>;
  const names = Object.keys(members).sort();
  return Object.fromEntries(names.map((name) => [name, sorted(members[name])]));
}

const noExecute: core.Toleration = { operator: 'Exists', effect: 'NoExecute' };

/**
 * Adds a toleration of every NoExecute taint, because taints never evict a static pod. kubelet:
 * pkg/apis/core/v1/helper/helpers.go AddOrUpdateTolerationInPod
 */
function tolerateNoExecute(tolerations: core.Toleration[]): core.Toleration[] {
  const isSame = ({ key, operator, value, effect }: core.Toleration): boolean =>
    key === undefined && operator === noExecute.operator && value === undefined && effect === noExecute.effect;
  const others = tolerations.filter((toleration) => !isSame(toleration));
  return [...others, noExecute];
}
