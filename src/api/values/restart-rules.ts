import type { Container, PodSpec } from '../types.ts';

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
  const policy = container.restartPolicy ?? spec.restartPolicy;
  if (policy === 'OnFailure') return exitCode !== 0;
  return policy !== 'Never';
}

/**
 * True if the container starts again after a failed probe. Rules do not count, because it still runs. kubelet:
 * kuberuntime_manager.go computePodActions
 */
export function restartsAfterProbe({ restartPolicy }: Container, spec: Pick<PodSpec, 'restartPolicy'>): boolean {
  return (restartPolicy ?? spec.restartPolicy) !== 'Never';
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
