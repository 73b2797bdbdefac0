/**
 * The command that shows a kind of kubectl here, such as `node`, or one of `deploy,po`. Returns undefined for other
 * words, and for pods.
 */
export function otherResourceHint(args: string): string | undefined {
  const hints = args.split(',').map(hintOf);
  return hints.find((hint) => hint !== undefined);
}

function hintOf(word: string): string | undefined {
  const singular = [word, word.replace(/s$/, ''), word.replace(/es$/, ''), word.replace(/ies$/, 'y')].map((name) =>
    name.toLowerCase(),
  );
  return otherResources.find(({ names }) => names.some((name) => singular.includes(name)))?.hint;
}

/** Kinds of kubectl, without the plural, and the command that shows them here. */
const otherResources: readonly { names: readonly string[]; hint: string }[] = [
  { names: ['node', 'no'], hint: 'Show the node: kubelet-ts top node, and kubelet-ts doctor' },
  {
    names: [
      ...['deployment', 'deploy', 'daemonset', 'ds', 'replicaset', 'rs', 'statefulset', 'sts'],
      ...['replicationcontroller', 'rc', 'job', 'cronjob', 'cj', 'all'],
    ],
    hint: 'List workloads: kubelet-ts get all. Show one: kubelet-ts describe deploy/web',
  },
  {
    names: [
      ...['namespace', 'ns', 'ingress', 'ing', 'ingressclass', 'serviceaccount', 'sa', 'endpoint', 'ep'],
      ...['networkpolicy', 'netpol', 'storageclass', 'sc', 'horizontalpodautoscaler', 'hpa'],
      ...['poddisruptionbudget', 'pdb', 'resourcequota', 'limitrange', 'rolebinding', 'clusterrole'],
      ...['clusterrolebinding', 'customresourcedefinition', 'crd'],
    ],
    hint: 'List pods: kubelet-ts ps. Check everything that a folder declares: kubelet-ts validate FOLDER',
  },
];
