import { type FeatureGates, featureStages } from '../../api/values/feature-gates.ts';
import type { Family } from './family.ts';

/** What a metric says about the program, and not about its work. */
export interface BuildFacts {
  /** The version of the reference kubelet, such as `v1.32.10`. */
  version: string;
  featureGates: FeatureGates;
}

/** kubelet: component-base/metrics/version/metrics.go, metrics/prometheus/feature/metrics.go */
export function buildFamilies({ version, featureGates }: BuildFacts): Family[] {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  // This program was not built by a Go compiler, nor from a commit of Kubernetes.
  const unknown = { git_commit: '', git_tree_state: '', build_date: '', go_version: '', compiler: '', platform: '' };
  return [
    {
      name: 'kubernetes_build_info',
      type: 'gauge',
      help:
        "[ALPHA] A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, " +
        'build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.',
      samples: [{ labels: { major, minor, git_version: version, ...unknown }, value: 1 }],
    },
    {
      name: 'kubernetes_feature_enabled',
      type: 'gauge',
      help: '[BETA] This metric records the data about the stage and enablement of a k8s feature.',
      samples: featureStages(featureGates).map(({ name, stage, isEnabled }) => ({
        // A gate that is generally available has no stage.
        labels: { name, stage: stage === 'GA' ? '' : stage.toUpperCase() },
        value: isEnabled ? 1 : 0,
      })),
    },
  ];
}
