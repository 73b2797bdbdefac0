import type { FeatureGates } from './feature-gates.ts';
import type { Container, Pod } from '../types.ts';

/**
 * The pod for the engine: without the fields that a feature gate disables. The manifest keeps them, as in the kubelet,
 * and the engine need not check the gates.
 */
export function withoutDisabledFields<P extends Pick<Pod, 'spec'>>(pod: P, gates: FeatureGates): P {
  const { containers, initContainers = [] } = pod.spec;
  if (gates.ContainerStopSignals || ![...initContainers, ...containers].some(hasStopSignal)) return pod;
  const spec = {
    ...pod.spec,
    ...(pod.spec.initContainers && { initContainers: initContainers.map(withoutStopSignal) }),
    containers: containers.map(withoutStopSignal),
  };
  return { ...pod, spec };
}

const hasStopSignal = ({ lifecycle }: Container): boolean => lifecycle?.stopSignal !== undefined;

function withoutStopSignal(container: Container): Container {
  if (!hasStopSignal(container)) return container;
  const lifecycle = { ...container.lifecycle };
  delete lifecycle.stopSignal;
  return { ...container, lifecycle };
}
