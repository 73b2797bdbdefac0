import type { Container, PodSpec } from '../types.ts';
import { isSidecar } from './sidecars.ts';

type RestartRule = NonNullable<Container['restartPolicyRules']>[number];

/**
 * True if a container that exited with this code starts again: by the first of its rules that matches, else by its
 * own restart policy, else by the pod's. kubelet: pkg/api/v1/pod/util.go ContainerShouldRestart
 */
export function restartsAfterExit(
  container: Container,
  spec: Pick<PodSpec, 'restartPolicy'>,
  exitCode: number,
): boolean {
  if (matchingRule(container, exitCode) !== undefined) return true;
  const policy = restartPolicyOf(container, spec);
  if (policy === 'OnFailure') return exitCode !== 0;
  return policy !== 'Never';
}

/** The container's own restart policy, else the pod's. */
export function restartPolicyOf({ restartPolicy }: Container, spec: Pick<PodSpec, 'restartPolicy'>): string {
  return restartPolicy ?? spec.restartPolicy ?? 'Always';
}

/** True if the pod runs until it is stopped: every container starts again, and no init container can fail the pod. */
export function alwaysRestarts(spec: PodSpec): boolean {
  return (
    spec.containers.every((container) => restartPolicyOf(container, spec) === 'Always') &&
    (spec.initContainers ?? []).every((container) => restartPolicyOf(container, spec) !== 'Never')
  );
}

/** Like `restartsAfterExit`, also for init containers: one that succeeded is done, and sidecars always restart. */
export function startsAgain(container: Container, spec: PodSpec, exitCode: number): boolean {
  const isInit = spec.initContainers?.some(({ name }) => name === container.name) === true;
  if (isInit && isSidecar(container)) return true;
  if (isInit && exitCode === 0) return restartsAllAfterExit(container, exitCode);
  return restartsAfterExit(container, spec, exitCode);
}

/**
 * True if the container starts again after a failed probe. Rules do not count, because it still runs. kubelet:
 * kuberuntime_manager.go computePodActions
 */
export function restartsAfterProbe(container: Container, spec: Pick<PodSpec, 'restartPolicy'>): boolean {
  return restartPolicyOf(container, spec) !== 'Never';
}

/** True if some exit starts the container again. kubelet: pkg/api/v1/pod/util.go IsContainerRestartable */
export function mayRestart(container: Container, spec: PodSpec): boolean {
  const { restartPolicyRules = [] } = container;
  return restartPolicyRules.length > 0 || restartsAfterProbe(container, spec) || mayRestartAll(spec);
}

/** True if this exit restarts every container of the pod. kubelet: pkg/api/v1/pod/util.go */
export function restartsAllAfterExit(container: Container, exitCode: number): boolean {
  return matchingRule(container, exitCode)?.action === restartAllContainers;
}

/** True if some exit can restart every container of the pod. kubelet: v1/pod/util.go AllContainersCouldRestart */
export function mayRestartAll({ initContainers = [], containers }: PodSpec): boolean {
  return [...initContainers, ...containers].some(({ restartPolicyRules = [] }) =>
    restartPolicyRules.some(({ action }) => action === restartAllContainers),
  );
}

const restartAllContainers = 'RestartAllContainers';

function matchingRule({ restartPolicyRules = [] }: Container, exitCode: number): RestartRule | undefined {
  return restartPolicyRules.find(({ exitCodes: { operator, values = [] } = {} }) =>
    operator === 'In' ? values.includes(exitCode) : operator === 'NotIn' && !values.includes(exitCode),
  );
}
