import { describe, expect, it } from 'vitest';
import {
  containerAnnotations,
  containerLabels,
} from '../../../../src/engine/kuberuntime/request/container-annotations.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

describe('containerAnnotations', () => {
  it('keeps all that is needed to stop a container whose manifest is gone', () => {
    const container = makeContainer({
      image: 'nginx:1.27',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
      ports: [{ protocol: 'TCP', containerPort: 80, name: 'http', hostPort: 0 }],
      lifecycle: { preStop: { exec: { command: ['sh', '-c', 'echo <bye> && sleep 1'] } } },
    });
    const pod = makePod({ metadata: { deletionGracePeriodSeconds: 0 }, spec: { terminationGracePeriodSeconds: 30 } });
    expect(containerAnnotations(pod, container, 3)).toEqual({
      'io.kubernetes.container.hash': 'e220f96',
      'io.kubernetes.container.restartCount': '3',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.container.ports': '[{"name":"http","containerPort":80,"protocol":"TCP"}]',
      'io.kubernetes.container.preStopHandler': String.raw`{"exec":{"command":["sh","-c","echo \u003cbye\u003e \u0026\u0026 sleep 1"]}}`,
      'io.kubernetes.pod.deletionGracePeriod': '0',
      'io.kubernetes.pod.terminationGracePeriod': '30',
    });
  });

  it('has the digits of the largest grace period', () => {
    const annotations = containerAnnotations(
      makePod({ spec: { terminationGracePeriodSeconds: 2 ** 63 } }),
      makeContainer(),
      0,
    );
    expect(annotations['io.kubernetes.pod.terminationGracePeriod']).toBe('9223372036854775807');
  });

  it('lets a device plugin add annotations but not change these', () => {
    const extra = { 'example.com/device': '1', 'io.kubernetes.container.restartCount': '99' };
    expect(containerAnnotations(makePod(), makeContainer(), 0, extra)).toMatchObject({
      'example.com/device': '1',
      'io.kubernetes.container.restartCount': '0',
    });
  });
});

it('labels a container with its identity and none of the labels of its pod', () => {
  expect(containerLabels(makePod({ metadata: { labels: { app: 'web' } } }), makeContainer())).toEqual({
    'io.kubernetes.container.name': 'web',
    'io.kubernetes.pod.name': 'web-node1',
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': '11111111-2222-3333-4444-555555555555',
  });
});
