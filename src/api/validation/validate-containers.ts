import type * as core from 'kubernetes-types/core/v1.js';
import type { Pod } from '../types.ts';
import { type FieldError, FieldErrors } from '../values/field-errors.ts';
import { checkDNS1123Label, checkPortName, checkPortNumber } from '../values/names.ts';
import { isSidecar } from '../values/sidecars.ts';
import { validateEnvironment } from './validate-env.ts';
import { validateProbesAndHooks } from './validate-handlers.ts';
import { validateMounts } from './validate-mounts.ts';
import { validateResources } from './validate-resources.ts';
import { validateContainerSecurity } from './validate-security.ts';
import type { PodVolumes } from './pod-volumes.ts';
import { validateRestartPolicy } from './validate-restart-policy.ts';
import { validateVolumes } from './validate-volumes.ts';

/** All containers of a pod. kubelet: validation.go validate{,Init,Ephemeral}Containers */
export function validateAllContainers(errors: FieldErrors, spec: core.PodSpec, volumes: PodVolumes): void {
  const context = contextOf(spec, volumes);
  validateContainers(errors, spec, context);
  validateInitContainers(errors, spec, context);
  validateEphemeralContainers(errors, spec, context);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.forbidden('spec.ephemeralContainers', 'can only be added to a running pod');
  }
}

/**
 * The rules for the ephemeral containers of a running pod, which is valid itself. kubelet: validation.go
 * ValidatePodEphemeralContainersUpdate
 */
export function validateEphemeralContainersOf({ metadata, spec }: Pod): FieldError[] {
  const errors = new FieldErrors();
  const volumes = validateVolumes(new FieldErrors(), spec, metadata.name);
  validateEphemeralContainers(errors, spec, contextOf(spec, volumes));
  return errors.list;
}

function contextOf(spec: core.PodSpec, volumes: PodVolumes): Context {
  return {
    volumes,
    claimNames: new Set((spec.resourceClaims ?? []).map(({ name }) => name).filter((name) => name !== '')),
    hostUsers: spec.hostUsers ?? true,
    restartPolicy: spec.restartPolicy ?? '',
    graceSeconds: spec.terminationGracePeriodSeconds ?? 0,
    osName: spec.os?.name,
  };
}

interface Context {
  volumes: PodVolumes;
  claimNames: ReadonlySet<string>;
  hostUsers: boolean;
  restartPolicy: string;
  graceSeconds: number;
  osName: string | undefined;
}

function validateContainers(errors: FieldErrors, spec: core.PodSpec, context: Context): void {
  if (spec.containers.length === 0) {
    errors.required('spec.containers', 'must have at least one', 'Begin each container with "- name: …".');
  }
  const names = new Set<string>();
  const hostPorts = new Set<string>();
  for (const [index, container] of spec.containers.entries()) {
    const field = `spec.containers[${index}]`;
    validateCommon(errors, field, container, context);
    if (names.has(container.name)) errors.duplicate(`${field}.name`, container.name);
    names.add(container.name);
    validateProbesAndHooks(errors, field, container, context);
    validateRestartPolicy(errors, field, container);
    validateResizePolicy(errors, `${field}.resizePolicy`, container.resizePolicy, context.restartPolicy);
    validateHostPorts(errors, `${field}.ports`, container.ports ?? [], hostPorts);
    if (spec.hostNetwork) validateHostNetworkPorts(errors, `${field}.ports`, container.ports ?? []);
  }
}

function validateInitContainers(errors: FieldErrors, spec: core.PodSpec, context: Context): void {
  const names = new Set(spec.containers.map(({ name }) => name));
  for (const [index, container] of (spec.initContainers ?? []).entries()) {
    const field = `spec.initContainers[${index}]`;
    validateCommon(errors, field, container, context);
    validateRestartPolicy(errors, field, container);
    validateInitResizePolicy(errors, `${field}.resizePolicy`, container, context.restartPolicy);
    if (names.has(container.name)) errors.duplicate(`${field}.name`, container.name);
    else if (container.name !== '') names.add(container.name);
    // Init containers do not run at the same time, so each is compared only with itself. The path is that of the first.
    validateHostPorts(errors, 'spec.initContainers[0].ports', container.ports ?? [], new Set());
    if (isSidecar(container)) {
      validateProbesAndHooks(errors, field, container, context);
    } else {
      for (const name of ['lifecycle', 'livenessProbe', 'readinessProbe', 'startupProbe'] as const) {
        if (container[name]) errors.forbidden(`${field}.${name}`, 'needs an init container with restartPolicy Always');
      }
    }
  }
}

/** Fields that an ephemeral container may not have. */
const forbiddenInEphemeral = [
  'lifecycle',
  'livenessProbe',
  'ports',
  'readinessProbe',
  'resizePolicy',
  'resources',
  'restartPolicy',
  'restartPolicyRules',
  'startupProbe',
] as const;

function validateEphemeralContainers(errors: FieldErrors, spec: core.PodSpec, context: Context): void {
  const others = new Set([...spec.containers, ...(spec.initContainers ?? [])].map(({ name }) => name));
  const names = new Set(others);
  const containers = spec.ephemeralContainers ?? [];
  for (const [index, container] of containers.entries()) {
    const field = `spec.ephemeralContainers[${index}]`;
    validateCommon(errors, field, container, context);
    if (names.has(container.name)) errors.duplicate(`${field}.name`, container.name);
    names.add(container.name);
    const target = container.targetContainerName ?? '';
    if (target !== '' && !others.has(target)) errors.notFound(`${field}.targetContainerName`, target, others);
    for (const name of forbiddenInEphemeral) {
      const value: object | string | undefined = container[name];
      const isSet = typeof value === 'object' ? Object.keys(value).length > 0 || name.endsWith('Probe') : value;
      if (isSet) errors.forbidden(`${field}.${name}`, 'cannot be set for an ephemeral container');
    }
    for (const [at, mount] of (container.volumeMounts ?? []).entries()) {
      for (const name of ['subPath', 'subPathExpr'] as const) {
        if (mount[name]) {
          errors.forbidden(`${field}.volumeMounts[${at}].${name}`, 'cannot be set for an ephemeral container');
        }
      }
    }
  }
}

/** kubelet: validation.go validateContainerCommon */
function validateCommon(
  errors: FieldErrors,
  field: string,
  container: core.Container | core.EphemeralContainer,
  context: Context,
): void {
  const { image = '', name } = container;
  if (name === '') errors.required(`${field}.name`, undefined, 'Give every container a different name.');
  else errors.invalidNameUnless(`${field}.name`, name, checkDNS1123Label);
  if (image === '') errors.required(`${field}.image`, undefined, 'Such as "image: registry.example/app:1.2".');
  if (image.trim() !== image) errors.invalid(`${field}.image`, image, 'must not start or end with white space');
  errors.requiredOneOf(`${field}.terminationMessagePolicy`, container.terminationMessagePolicy, [
    'File',
    'FallbackToLogsOnError',
  ]);
  validatePorts(errors, `${field}.ports`, container.ports ?? []);
  validateEnvironment(errors, field, container, context.volumes);
  validateMounts(errors, field, container, context.volumes);
  errors.requiredOneOf(`${field}.imagePullPolicy`, container.imagePullPolicy, ['Always', 'IfNotPresent', 'Never']);
  validateResources(errors, `${field}.resources`, container.resources ?? {}, context.claimNames);
  validateContainerSecurity(errors, `${field}.securityContext`, container.securityContext, context.hostUsers);
}

function validatePorts(errors: FieldErrors, field: string, ports: readonly core.ContainerPort[]): void {
  const names = new Set<string>();
  for (const [index, port] of ports.entries()) {
    const path = `${field}[${index}]`;
    const { containerPort, hostPort = 0, name = '', protocol } = port;
    if (name !== '') {
      if (checkPortName(name) !== undefined) errors.invalidNameUnless(`${path}.name`, name, checkPortName);
      else if (names.has(name)) errors.duplicate(`${path}.name`, name);
      else names.add(name);
    }
    if (containerPort === 0) errors.required(`${path}.containerPort`);
    else errors.invalidIf(`${path}.containerPort`, containerPort, checkPortNumber(containerPort));
    if (hostPort !== 0) errors.invalidIf(`${path}.hostPort`, hostPort, checkPortNumber(hostPort));
    errors.requiredOneOf(`${path}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  }
}

function validateHostPorts(
  errors: FieldErrors,
  field: string,
  ports: readonly core.ContainerPort[],
  taken: Set<string>,
): void {
  for (const [index, { hostIP = '', hostPort = 0, protocol = '' }] of ports.entries()) {
    if (hostPort === 0) continue;
    const key = `${protocol}/${hostIP}/${hostPort}`;
    if (taken.has(key)) errors.duplicate(`${field}[${index}].hostPort`, key);
    taken.add(key);
  }
}

function validateHostNetworkPorts(errors: FieldErrors, field: string, ports: readonly core.ContainerPort[]): void {
  for (const [index, { containerPort, hostPort = 0 }] of ports.entries()) {
    if (hostPort !== 0 && hostPort !== containerPort) {
      errors.invalid(`${field}[${index}].hostPort`, hostPort, 'must match containerPort when hostNetwork is true');
    }
  }
}

function validateResizePolicy(
  errors: FieldErrors,
  field: string,
  policies: readonly core.ContainerResizePolicy[] = [],
  podRestartPolicy = '',
): void {
  const names = new Set<string>();
  for (const [index, { resourceName, restartPolicy }] of policies.entries()) {
    if (names.has(resourceName)) errors.duplicate(`${field}[${index}]`, resourceName);
    names.add(resourceName);
    errors.requiredOneOf(field, resourceName, ['cpu', 'memory']);
    errors.requiredOneOf(field, restartPolicy, ['NotRequired', 'RestartContainer']);
    if (podRestartPolicy === 'Never' && restartPolicy !== 'NotRequired') {
      errors.invalid(field, restartPolicy, 'must be NotRequired when restartPolicy is Never');
    }
  }
}

/** An init container that ends is never restarted for a resize. kubelet: validation.go validateInitContainers */
function validateInitResizePolicy(
  errors: FieldErrors,
  field: string,
  container: core.Container,
  podRestartPolicy: string,
): void {
  validateResizePolicy(errors, field, container.resizePolicy, podRestartPolicy);
  if (isSidecar(container)) return;
  for (const [index, { restartPolicy }] of (container.resizePolicy ?? []).entries()) {
    if (restartPolicy !== 'RestartContainer') continue;
    errors.invalid(`${field}[${index}].restartPolicy`, restartPolicy, 'is for sidecars and regular containers only');
  }
}
