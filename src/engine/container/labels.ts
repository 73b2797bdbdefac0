/**
 * Labels and annotations that identify our containers in the runtime. kubelet: types/labels.go, kuberuntime/labels.go
 */
export const criLabels = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUID: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
} as const;

export const criAnnotations = {
  containerHash: 'io.kubernetes.container.hash',
  restartCount: 'io.kubernetes.container.restartCount',
  deletionGracePeriod: 'io.kubernetes.pod.deletionGracePeriod',
  terminationGracePeriod: 'io.kubernetes.pod.terminationGracePeriod',
  preStopHandler: 'io.kubernetes.container.preStopHandler',
  ports: 'io.kubernetes.container.ports',
  terminationMessagePath: 'io.kubernetes.container.terminationMessagePath',
  terminationMessagePolicy: 'io.kubernetes.container.terminationMessagePolicy',
} as const;
