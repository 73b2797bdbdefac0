import type { Probe } from 'kubernetes-types/core/v1.js';
import { describe, expect, test } from 'vitest';
import { probeMeaning } from '../../../src/engine/explain/probe-meaning.ts';
import { makeContainer, makePod } from '../../builders/pods.ts';

/** The meaning of a failed readiness probe of the only container. */
function meaningOf(readinessProbe: Probe, output: string) {
  const container = makeContainer({ readinessProbe });
  const pod = makePod({ spec: { containers: [container] } });
  const part = { container, path: 'spec.containers[0]', isInit: false };
  return probeMeaning({ pod }, part, `Readiness probe failed: ${output}`);
}

const execOf = (...command: string[]): Probe => ({ exec: { command } });

describe('a failing command can be tried by a paste into a shell:', () => {
  test.each([
    ['each word', ['check', 'db'], 'check db'],
    ['a script', ['sh', '-c', 'test -f /a && touch /b'], "sh -c 'test -f /a && touch /b'"],
    ['a script of several lines', ['sh', '-c', "a\necho 'b'\n"], String.raw`sh -c $'a\necho \047b\047\n'`],
  ])('%s', (_what, command, words) => {
    expect(meaningOf(execOf(...command), '').fixes[0]).toBe(`Try it: kubelet-ts exec web-node1 -c web -- ${words}`);
  });

  test('its cause has the command as it is', () => {
    expect(meaningOf(execOf('sh', '-c', 'a && b'), 'no').cause).toBe('the command "sh -c a && b" fails: no');
  });
});

describe('the output of a command names no port of the probe:', () => {
  test.each([
    ['health check failed: dial tcp 127.0.0.1:2379: connect: connection refused', 'connection refused'],
    ['GET /healthz: statuscode: 503', 'statuscode: 503'],
    ['curl: wrong version number', 'wrong version number'],
  ])('%s', (output, last) => {
    expect(meaningOf(execOf('check'), output).cause).toMatch(/^the command "check" fails: /);
    expect(meaningOf(execOf('check'), output).cause).toContain(last);
  });
});

test.each<[Probe, string, string]>([
  [
    { tcpSocket: { port: 80 } },
    'dial tcp 10.88.0.2:80: connect: connection refused',
    'nothing listens on port 80 of 10.88.0.2',
  ],
  [
    { grpc: { port: 81 } },
    'dial tcp 10.88.0.2:81: connect: connection refused',
    'nothing listens on port 81 of 10.88.0.2',
  ],
  [
    { httpGet: { port: 'http', path: '/ready' } },
    'HTTP probe failed with statuscode: 503',
    'GET /ready on port http answers 503',
  ],
])('a probe of a port names it: %j', (probe, output, cause) => {
  expect(meaningOf(probe, output).cause).toBe(cause);
});
