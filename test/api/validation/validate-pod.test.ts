import { describe, expect, test } from 'vitest';
import { defaultFeatureGates, type FeatureGates } from '../../../src/api/values/feature-gates.ts';
import { loadPod } from '../../builders/load-pod.ts';
import { podUIDHash } from '../../../src/engine/config/load-manifest.ts';

const node = { nodeName: 'edge1', source: 'file', origin: '/manifests/web.yaml', hash: podUIDHash } as const;

/** The problems of a pod whose spec has one container `c` with these fields, as `field: message`. */
function problemsOf(
  container: object,
  spec: object = {},
  options: { isPortable?: boolean; featureGates?: FeatureGates } = {},
): string[] {
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'c', image: 'registry.example/a:1', ...container }], ...spec },
  };
  const { problems } = loadPod(JSON.stringify(pod), { ...node, ...options });
  return problems.map(({ field = '', message }) => `${field}: ${message}`);
}

const off = (...names: (keyof FeatureGates)[]): FeatureGates => ({
  ...defaultFeatureGates,
  ...Object.fromEntries(names.map((name) => [name, false])),
});

describe('fields of Kubernetes 1.36 are accepted:', () => {
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
  const fileKeyRef = { volumeName: 'v', path: 'a.env', key: '1 key' };
  test.each<[string, object, object]>([
    ['a restart policy of a regular container', { restartPolicy: 'OnFailure', restartPolicyRules: [rule] }, {}],
    [
      'a variable of a file',
      { env: [{ name: '2 B!', valueFrom: { fileKeyRef } }] },
      { volumes: [{ name: 'v', emptyDir: {} }] },
    ],
    ['another hostname', {}, { hostnameOverride: 'gateway.example', hostname: 'x' }],
    [
      'a folder of an image volume',
      { volumeMounts: [{ name: 'v', mountPath: '/v', subPath: 'a' }] },
      { volumes: [{ name: 'v', image: { reference: 'registry.example/data:1' } }] },
    ],
    ['resources of the whole pod', {}, { resources: { limits: { cpu: '1', memory: '1Gi' } } }],
    ['no sleep', { lifecycle: { preStop: { sleep: { seconds: 0 } } } }, {}],
    ['search domains with "_" and the root', {}, { dnsConfig: { searches: ['_tcp.a_b.example', '.'] } }],
  ])('%s', (_title, container, spec) => {
    expect(problemsOf(container, spec)).toEqual([]);
  });
});

test('fields of Kubernetes 1.37 are ignored, and are not called unknown', () => {
  const mount = { name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] };
  expect(problemsOf({ volumeMounts: [mount] }, { volumes: [{ name: 'v', emptyDir: { mode: 0o700 } }] })).toEqual([
    'spec.containers[0].volumeMounts[0].bindMountOptions: "bindMountOptions" is a field since Kubernetes 1.37, not built here: it is ignored',
    'spec.volumes[0].emptyDir.mode: "mode" is a field since Kubernetes 1.37, not built here: it is ignored',
  ]);
});

describe('a field whose feature gate is off is refused:', () => {
  test.each<[keyof FeatureGates, object, object, string]>([
    ['ContainerRestartRules', { restartPolicy: 'Never' }, {}, 'spec.containers[0].restartPolicy'],
    ['HostnameOverride', {}, { hostnameOverride: 'a' }, 'spec.hostnameOverride'],
    [
      'EnvFiles',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'a', key: 'A' } } }] },
      { volumes: [{ name: 'v', emptyDir: {} }] },
      'spec.containers[0].env[0].valueFrom.fileKeyRef',
    ],
    [
      'InPlacePodVerticalScalingInitContainers',
      {},
      {
        initContainers: [
          { name: 'i', image: 'a', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] },
        ],
      },
      'spec.initContainers[0].resizePolicy',
    ],
    [
      'RestartAllContainersOnContainerExits',
      {
        restartPolicy: 'Never',
        restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [1] } }],
      },
      {},
      'spec.containers[0].restartPolicyRules[0].action',
    ],
  ])('%s', (gate, container, spec, field) => {
    expect(problemsOf(container, spec, { featureGates: off(gate) })).toEqual([
      `${field}: Forbidden: needs the feature gate ${gate}`,
    ]);
  });

  test('but a lenient check of addresses returns without StrictIPCIDRValidation', () => {
    const spec = {
      hostAliases: [
        { ip: '010.0.0.1', hostnames: ['a'] },
        { ip: '::ffff:c000:201', hostnames: ['b'] },
      ],
    };
    expect(problemsOf({}, spec, { featureGates: off('StrictIPCIDRValidation') })).toEqual([]);
    expect(problemsOf({}, spec)).toEqual([
      'spec.hostAliases[0].ip: Invalid value: "010.0.0.1": must not have leading zeros',
      'spec.hostAliases[1].ip: Invalid value: "::ffff:c000:201": must not be an IPv4 address in IPv6 form',
    ]);
  });
});

test('a portable pod is one that a kubelet does not refuse for its references', () => {
  const container = { envFrom: [{ secretRef: { name: 's' } }, { configMapRef: { name: 'm' } }] };
  const spec = {
    serviceAccountName: 'robot',
    volumes: [
      { name: 'p', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'f', azureFile: { secretName: 's', shareName: 'a' } },
    ],
  };
  const refused = (field: string, kind: string): string =>
    `${field}: kubelets since Kubernetes 1.34 refuse this pod: static pods may not reference ${kind}`;
  expect(problemsOf(container, spec, { isPortable: true }).filter((text) => text.includes('1.34'))).toEqual([
    refused('spec.serviceAccountName', 'serviceaccounts'),
    refused('spec.containers[0].envFrom[0].secretRef.name', 'secrets'),
    refused('spec.volumes[1].azureFile.secretName', 'secrets'),
    refused('spec.containers[0].envFrom[1].configMapRef.name', 'configmaps'),
    refused('spec.volumes[0].persistentVolumeClaim', 'persistentvolumeclaims'),
  ]);
  expect(problemsOf(container, spec).filter((text) => text.includes('1.34'))).toEqual([]);
});
