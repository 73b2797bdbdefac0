import { expect, it } from 'vitest';
import { portMappings } from '../../../../src/engine/kuberuntime/request/generate-pod-sandbox-config.ts';
import { makeContainer, makePod } from '../../../builders/pods.ts';

it('maps every port of the regular containers once a container', () => {
  const ports = [
    { containerPort: 80, name: 'http' },
    { containerPort: 81, name: 'http' },
    { containerPort: 53, protocol: 'UDP' as const, hostPort: 5353, hostIP: '192.0.2.7' },
    { containerPort: 53, protocol: 'UDP' as const, hostPort: 5353, hostIP: '192.0.2.7' },
    { containerPort: 53, protocol: 'UDP' as const, hostPort: 5353, hostIP: 'fd00::7' },
  ];
  const pod = makePod({
    spec: {
      initContainers: [makeContainer({ name: 'setup', ports: [{ containerPort: 1 }] })],
      containers: [
        makeContainer({ ports }),
        makeContainer({ name: 'other', ports: [{ containerPort: 80, name: 'http' }] }),
      ],
    },
  });
  expect(portMappings(pod)).toEqual([
    { protocol: 'TCP', containerPort: 80, hostPort: 0, hostIp: '' },
    { protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '192.0.2.7' },
    { protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: 'fd00::7' },
    { protocol: 'TCP', containerPort: 80, hostPort: 0, hostIp: '' },
  ]);
});
