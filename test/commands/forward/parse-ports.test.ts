import { expect, test } from 'vitest';
import { numbersIn, parsePorts, portOfPods } from '../../../src/commands/forward/parse-ports.ts';
import { makePod } from '../../builders/pods.ts';
import { makePort, makeService } from '../../builders/services.ts';

test.each([
  ['80', { local: 80, remote: 80 }],
  ['8080:80', { local: 8080, remote: 80 }],
  [':80', { local: 0, remote: 80 }],
  ['0:80', { local: 0, remote: 80 }],
  ['http', { local: undefined, remote: 'http' }],
  [':http', { local: 0, remote: 'http' }],
  ['8080:metrics-of-the-server', { local: 8080, remote: 'metrics-of-the-server' }],
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
  ['by number', {}, { local: 8080, remote: 80 }, { local: 8080, remote: 'http' }],
  ['by name', {}, { local: 0, remote: 'web' }, { local: 0, remote: 'http' }],
  ['by name without a local port', {}, { local: undefined, remote: 'web' }, { local: 80, remote: 'http' }],
  ['of a headless Service', { clusterIPs: ['None'] }, { local: 8080, remote: 80 }, { local: 8080, remote: 80 }],
])('a port of a Service, %s, leads to a port of its pods', (_, more, asked, meant) => {
  const ports = [
    makePort({ name: 'quic', protocol: 'UDP', targetPort: 443 }),
    makePort({ name: 'web', targetPort: 'http' }),
  ];
  expect(portOfPods(makeService('web', { ports, ...more }), asked)).toEqual(meant);
});

test('a port that the Service lacks is refused, even if its pods have it', () => {
  const service = makeService('web', {
    ports: [
      makePort({ name: 'http' }),
      makePort({ name: 'grpc', port: 90 }),
      makePort({ name: 'dns', port: 8080, protocol: 'UDP' }),
    ],
  });
  expect(() => portOfPods(service, { local: 0, remote: 8080 })).toThrow(
    expect.objectContaining({
      message: 'Service web has no TCP port 8080',
      hint: 'Its TCP ports are: 80 (http), 90 (grpc). For another port, name a pod.',
    }),
  );
});

test('a name is that of a port of the declared pod', () => {
  const container = {
    name: 'app',
    image: 'app:1',
    ports: [
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
      { name: 'http', containerPort: 8080 },
    ],
  };
  const pod = makePod({ spec: { containers: [container] } });
  expect(numbersIn(pod, { local: undefined, remote: 'http' })).toEqual({ local: 8080, remote: 8080 });
  expect(numbersIn(undefined, { local: 0, remote: 80 })).toEqual({ local: 0, remote: 80 });
  expect(() => numbersIn(pod, { local: 0, remote: 'dns' })).toThrow('the pod has no TCP port named "dns"');
  expect(() => numbersIn(undefined, { local: 0, remote: 'http' })).toThrow(
    'no agent answers, so the port named "http" is unknown',
  );
});
