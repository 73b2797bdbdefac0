import { checkLabelValue, checkQualifiedName } from '../../api/values/names.ts';
import { UserError } from '../../errors.ts';

/** The labels of --node-labels, NAME=VALUE each. kubelet: cmd/kubelet/app/options/options.go ValidateKubeletFlags */
export function parseNodeLabels(pairs: readonly string[] = []): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [key, value] = splitPair(pair);
      const problem = checkQualifiedName(key) ?? checkLabelValue(value);
      if (problem !== undefined) throw new UserError(`--node-labels: "${pair}" ${problem}`);
      if (!isAllowedNodeLabel(key)) {
        throw new UserError(`--node-labels: "${key}" is a name reserved by Kubernetes`, {
          hint: 'Use a prefix of your own, or node.kubernetes.io/ or kubelet.kubernetes.io/.',
        });
      }
      return [key, value];
    }),
  );
}

/** Labels of Kubernetes that a node may set itself. kubelet: kubelet/pkg/apis/well_known_labels.go */
const kubeletLabels: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
]);

function isAllowedNodeLabel(key: string): boolean {
  const [prefix = ''] = key.includes('/') ? key.split('/') : [];
  const isKubernetes = /(^|\.)(kubernetes|k8s)\.io$/.test(prefix);
  return !isKubernetes || kubeletLabels.has(key) || /(^|\.)(kubelet|node)\.kubernetes\.io$/.test(prefix);
}

function splitPair(pair: string): [string, string] {
  const equals = pair.indexOf('=');
  if (equals > 0) return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
  throw new UserError(`--node-labels must be NAME=VALUE, not "${pair}"`);
}
