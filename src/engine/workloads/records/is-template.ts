import type { Container, Pod } from '../../../api/types.ts';
import { type Check, isFlag, isListOf, isMapOf, isShape, isText, optional } from './record-checks.ts';

const isNamed = isShape<{ name: string }>({ name: isText });
const isContainer = isShape<Pick<Container, 'name' | 'env' | 'ports'>>({
  name: isText,
  env: optional(isListOf(isNamed)),
  ports: optional(isListOf(isShape<object>({}))),
});

/** True for a pod from a manifest, as far as workloads read it. */
export const isTemplate: Check = isShape<Pick<Pod, 'metadata' | 'spec'>>({
  metadata: isShape<Pick<Pod['metadata'], 'name' | 'namespace' | 'uid' | 'labels' | 'annotations'>>({
    name: isText,
    namespace: isText,
    uid: isText,
    labels: optional(isMapOf(isText)),
    annotations: optional(isMapOf(isText)),
  }),
  spec: isShape<
    Pick<
      Pod['spec'],
      'containers' | 'initContainers' | 'volumes' | 'nodeName' | 'hostname' | 'hostNetwork' | 'restartPolicy'
    >
  >({
    containers: isListOf(isContainer),
    initContainers: optional(isListOf(isContainer)),
    volumes: optional(isListOf(isNamed)),
    nodeName: optional(isText),
    hostname: optional(isText),
    hostNetwork: optional(isFlag),
    restartPolicy: optional(isText),
  }),
});
