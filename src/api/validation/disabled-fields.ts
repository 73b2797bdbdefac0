import type * as core from 'kubernetes-types/core/v1.js';
import { eachContainer } from '../values/containers.ts';
import type { FeatureGateName, FeatureGates } from '../values/feature-gates.ts';
import type { FieldErrors } from '../values/field-errors.ts';
import { isSidecar } from '../values/sidecars.ts';

/** Refuses fields whose feature gate is off, because the engine would still apply them. */
export function forbidDisabledFields(errors: FieldErrors, spec: core.PodSpec, gates: FeatureGates): void {
  const forbid = (gate: FeatureGateName, field: string, isUsed: boolean): void => {
    if (isUsed && !gates[gate]) errors.forbidden(field, `needs the feature gate ${gate}`);
  };
  forbid('HostnameOverride', 'spec.hostnameOverride', spec.hostnameOverride !== undefined);
  for (const { container, field } of eachContainer(spec)) {
    const { env = [], resizePolicy, restartPolicy, restartPolicyRules: rules = [] } = container;
    const isInit = field.startsWith('spec.initContainers');
    const isNewPolicy = restartPolicy !== undefined && !(isInit && isSidecar(container));
    forbid('ContainerRestartRules', `${field}.restartPolicy`, isNewPolicy);
    forbid('ContainerRestartRules', `${field}.restartPolicyRules`, rules.length > 0);
    const isSidecarWithRules = isInit && isSidecar(container) && rules.length > 0;
    forbid('RestartAllContainersOnContainerExits', `${field}.restartPolicyRules`, isSidecarWithRules);
    for (const [index, { action }] of rules.entries()) {
      const isAll = action === 'RestartAllContainers';
      forbid('RestartAllContainersOnContainerExits', `${field}.restartPolicyRules[${index}].action`, isAll);
    }
    for (const [index, { valueFrom }] of env.entries()) {
      forbid('EnvFiles', `${field}.env[${index}].valueFrom.fileKeyRef`, valueFrom?.fileKeyRef !== undefined);
    }
    const isInitResized = isInit && resizePolicy !== undefined;
    forbid('InPlacePodVerticalScalingInitContainers', `${field}.resizePolicy`, isInitResized);
  }
}
