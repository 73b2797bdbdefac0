import { expect, test } from 'vitest';
import { parsePorts, portNumberIn, targetPortOf } from '../../../src/commands/forward/parse-ports.ts';
import { makePod } from '../../builders/pods.ts';
import { makePort, makeService } from '../../builders/services.ts';

test.each([
  ['80', { local: 80, remote: 80 }],
  ['8080:80', { local: 8080, remote: 80 }],
  [':80', { local: 0, remote: 80 }],
  ['0:80', { local: 0, remote: 80 }],
  ['http', { local: 0, remote: 'http' }],
  ['8080:http-1', { local: 8080, remote: 'http-1' }],
])('%s is a pair of ports', (text, ports) => {
  expect(parsePorts([text])).toEqual([ports]);
});

test.each([
  ['65536', '"65536" is not a port from 1 to 65535'],
  ['0', '"0": the port of the pod must not be 0'],
  ['80:', '"80:": "" is not a port from 1 to 65535'],
  ['1:2:3', '"1:2:3" is not a pair of ports'],
  ['-1:80', '"-1:80": "-1" is not a port from 1 to 65535'],
  ['http:80', '"http:80": "http" is not a port from 1 to 65535'],
])('%s is refused', (text, message) => {
  expect(() => parsePorts([text])).toThrow(message);
});

test.each([
  ['by number', {}, 80, 'http'],
  ['by name', {}, 'web', 'http'],
  ['of a headless Service', { clusterIPs: ['None'] }, 80, 80],
])('a port of a Service, %s, leads to a port of its pods', (_, more, remote, target) => {
  const service = makeService('web', { ports: [makePort({ name: 'web', targetPort: 'http' })], ...more });
  expect(targetPortOf(service, remote)).toBe(target);
});

test('a port that the Service lacks is refused, even if its pods have it', () => {
  const service = makeService('web', { ports: [makePort({ name: 'http' }), makePort({ name: 'grpc', port: 90 })] });
  expect(() => targetPortOf(service, 8080)).toThrow(
    expect.objectContaining({
      message: 'Service web has no port 8080',
      hint: 'Its ports are: 80 (http), 90 (grpc). For another port, name a pod.',
    }),
  );
});

test('a name is that of a port of the declared pod', () => {
  const container = { name: 'app', image: 'app:1', ports: [{ name: 'http', containerPort: 8080 }] };
  const pod = makePod({ spec: { containers: [container] } });
  expect(portNumberIn(pod, 'http')).toBe(8080);
  expect(portNumberIn(undefined, 80)).toBe(80);
  expect(() => portNumberIn(pod, 'grpc')).toThrow('the pod has no port named "grpc"');
  expect(() => portNumberIn(undefined, 'http')).toThrow('no agent answers, so the port named "http" is unknown');
});
