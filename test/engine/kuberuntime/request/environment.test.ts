import { describe, expect, it } from 'vitest';
import type { Container, EnvVar } from '../../../../src/api/types.ts';
import { type EnvironmentSources, makeEnvironment } from '../../../../src/engine/kuberuntime/request/environment.ts';
import { UserError } from '../../../../src/errors.ts';
import { configObjectsOf, makeConfigMap, makeSecret } from '../../../builders/config-objects.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

const sources: EnvironmentSources = {
  envFiles: new Map(),
  podIPs: ['10.88.0.2', 'fd00::2'],
  nodeIPs: ['192.0.2.7', 'fd00::7'],
  allocatable: { cpu: '4', memory: '8Gi', 'ephemeral-storage': '100Gi' },
  configObjects: configObjectsOf(
    makeConfigMap('settings', { mode: 'blue', SIZE: '3' }, { binaryData: new Map([['logo', Buffer.from([0xff])]]) }),
    makeSecret('login', { password: '$(SIZE)', '1st.key': 'any key is a name' }),
  ),
};

/** The environment as name to value, in order. */
function environmentOf(container: Partial<Container>, changes: Partial<EnvironmentSources> = {}) {
  const web = makeContainer(container);
  const pod = makePod({
    metadata: { labels: { app: 'web' }, annotations: { 'example.com/note': 'hi' } },
    spec: { nodeName: 'node1', serviceAccountName: 'runner', containers: [web] },
  });
  return makeEnvironment(pod, web, { ...sources, ...changes }).map(({ name, value }) => `${name}=${value}`);
}

describe('order and expansion', () => {
  it('expands $(VAR) with what is defined earlier and leaves the rest as written', () => {
    const env = [
      { name: 'A', value: 'one' },
      { name: 'B', value: '$(A) $(C) $$(A) $(MISSING)' },
      { name: 'C', value: 'late' },
    ];
    expect(environmentOf({ env })).toEqual(['A=one', 'B=one $(C) $(A) $(MISSING)', 'C=late']);
  });

  it('reads envFrom before env, so that env wins and can refer to it', () => {
    expect(
      environmentOf({
        envFrom: [{ configMapRef: { name: 'settings' } }, { prefix: 'LOGIN_', secretRef: { name: 'login' } }],
        env: [
          { name: 'SIZE', value: '$(SIZE)0' },
          { name: 'mode', value: 'green' },
        ],
      }),
    ).toEqual(['mode=green', 'SIZE=30', 'LOGIN_password=$(SIZE)', 'LOGIN_1st.key=any key is a name']);
  });

  it('does not expand what a source gives', () => {
    const env: EnvVar[] = [
      { name: 'SIZE', value: '3' },
      { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
    ];
    expect(environmentOf({ env })).toEqual(['SIZE=3', 'PASSWORD=$(SIZE)']);
  });

  it('sets a variable without a value to the empty string', () => {
    expect(environmentOf({ env: [{ name: 'EMPTY' }] })).toEqual(['EMPTY=']);
  });
});

describe('the downward API', () => {
  it.each([
    ['metadata.name', 'web-node1'],
    ['metadata.namespace', 'default'],
    ['metadata.uid', '11111111-2222-3333-4444-555555555555'],
    [`metadata.labels['app']`, 'web'],
    [`metadata.annotations['example.com/note']`, 'hi'],
    [`metadata.labels['other']`, ''],
    ['spec.nodeName', 'node1'],
    ['spec.serviceAccountName', 'runner'],
    ['status.hostIP', '192.0.2.7'],
    ['status.hostIPs', '192.0.2.7,fd00::7'],
    ['status.podIP', '10.88.0.2'],
    ['status.podIPs', '10.88.0.2,fd00::2'],
  ])('gives %s', (fieldPath, value) => {
    expect(environmentOf({ env: [{ name: 'X', valueFrom: { fieldRef: { fieldPath } } }] })).toEqual([`X=${value}`]);
  });

  it('gives the address of the node to a pod on its network', () => {
    const web = makeContainer({ env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }] });
    const pod = makePod({ spec: { hostNetwork: true, containers: [web] } });
    expect(makeEnvironment(pod, web, { ...sources, podIPs: [] })).toEqual([{ name: 'IP', value: '192.0.2.7' }]);
  });

  it('rounds resources up to the divisor and takes what the node allows for a missing limit', () => {
    const resource = (name: string, divisor: string): EnvVar => ({
      name: `${name}/${divisor}`,
      valueFrom: { resourceFieldRef: { resource: name, divisor } },
    });
    const env = [
      resource('limits.cpu', '1'),
      resource('limits.cpu', '1m'),
      resource('requests.memory', '1Mi'),
      resource('limits.memory', '1Gi'),
      resource('requests.ephemeral-storage', '1'),
    ];
    const resources = { requests: { memory: '1500k' }, limits: { cpu: '1500m' } };
    expect(environmentOf({ env, resources })).toEqual([
      'limits.cpu/1=2',
      'limits.cpu/1m=1500',
      'requests.memory/1Mi=2',
      'limits.memory/1Gi=8',
      'requests.ephemeral-storage/1=0',
    ]);
  });

  it('can ask for the resources of another container', () => {
    const web = makeContainer({
      env: [{ name: 'CPU', valueFrom: { resourceFieldRef: { containerName: 'other', resource: 'requests.cpu' } } }],
    });
    const other = makeContainer({ name: 'other', resources: { requests: { cpu: '3' } } });
    const pod = makePod({ spec: { containers: [web, other] } });
    expect(makeEnvironment(pod, web, sources)).toEqual([{ name: 'CPU', value: '3' }]);
  });
});

describe('references that lead nowhere', () => {
  it.each<[string, Partial<Container>]>([
    ['configmap "none" not found', { envFrom: [{ configMapRef: { name: 'none' } }] }],
    ['secret "none" not found', { envFrom: [{ secretRef: { name: 'none' } }] }],
    [
      "couldn't find key user in Secret default/login",
      { env: [{ name: 'X', valueFrom: { secretKeyRef: { name: 'login', key: 'user' } } }] },
    ],
    [
      'configmap "none" not found',
      { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'k' } } }] },
    ],
    // Binary data is for files.
    [
      "couldn't find key logo in ConfigMap default/settings",
      { env: [{ name: 'X', valueFrom: { configMapKeyRef: { name: 'settings', key: 'logo' } } }] },
    ],
  ])('are refused by name: %s', (message, container) => {
    expect(() => environmentOf(container)).toThrow(UserError);
    expect(() => environmentOf(container)).toThrow(message);
  });

  it('are left out when they are optional', () => {
    expect(
      environmentOf({
        envFrom: [{ configMapRef: { name: 'none', optional: true } }],
        env: [
          { name: 'X', valueFrom: { configMapKeyRef: { name: 'none', key: 'k', optional: true } } },
          { name: 'Y', valueFrom: { secretKeyRef: { name: 'login', key: 'user', optional: true } } },
        ],
      }),
    ).toEqual([]);
  });
});
