import { expect, test } from 'vitest';
import { HTTPCounts } from '../../../src/server/metrics/http-counts.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';

/** Labels of each request: the method, the path, whether it is long-running. */
function labelled(serverType: 'readonly' | 'readwrite', ...requests: string[]): string[] {
  const counts = new HTTPCounts(new FakeClock());
  for (const request of requests) {
    const [method, url] = request.split(' ');
    counts.began({ method, url }, serverType)();
  }
  const [, , total] = counts.families();
  return [...(total?.samples ?? [])].map(({ labels, value }) => {
    const { method = '', path = '', server_type: server = '', long_running: isLong = '' } = labels;
    return [method, path, server, isLong, value].join(' ');
  });
}

test('a request is counted under the first part of a path that its server has', () => {
  const paths = ['/healthz/ping', '/pods?a', '/stats/summary', '/metrics', '/metrics/cadvisor', '/metrics/probes'];
  const others = ['/metrics/', '/metrics/slis', '/nosuch', '/', '//pods', '/%2Fpods', '/%zz'];
  expect(labelled('readwrite', ...[...paths, '/%70ods', ...others].map((path) => `GET ${path}`))).toEqual([
    'GET healthz readwrite false 1',
    'GET pods readwrite false 2',
    'GET stats readwrite false 1',
    'GET metrics readwrite false 1',
    'GET metrics/cadvisor readwrite false 1',
    'GET metrics/probes readwrite false 1',
    'GET other readwrite false 7',
  ]);
});

test('exec, attach and debug are long-running, and portForward is not, as in the kubelet', () => {
  const paths = ['/run/d/p/c', '/exec/d/p/c', '/attach/d/p/c', '/portForward/d/p', '/containerLogs/d/p/c', '/debug/x'];
  const others = ['/configz', '/checkpoint/d/p/c', '/runningpods/', '/logs/', '/pprof/'];
  expect(labelled('readwrite', ...[...paths, ...others].map((path) => `GET ${path}`))).toEqual([
    'GET run readwrite false 1',
    'GET exec readwrite true 1',
    'GET attach readwrite true 1',
    'GET portForward readwrite false 1',
    'GET containerLogs readwrite false 1',
    'GET debug readwrite true 1',
    'GET configz readwrite false 1',
    'GET checkpoint readwrite false 1',
    'GET runningpods readwrite false 1',
    'GET logs readwrite false 1',
    'GET other readwrite false 1',
  ]);
});

test('a server without debug handlers knows fewer paths', () => {
  const paths = [
    '/run/',
    '/exec/',
    '/attach/',
    '/portForward/',
    '/containerLogs/',
    '/runningpods/',
    '/logs/',
    '/pprof/',
  ];
  const others = ['/configz', '/checkpoint/d/p/c', '/debug/pprof/'];
  expect(labelled('readonly', ...[...paths, ...others].map((path) => `GET ${path}`))).toEqual([
    'GET run readonly false 1',
    'GET exec readonly true 1',
    'GET attach readonly true 1',
    'GET portForward readonly false 1',
    'GET containerLogs readonly false 1',
    'GET runningpods readonly false 1',
    'GET logs readonly false 1',
    'GET pprof readonly false 1',
    'GET other readonly false 3',
  ]);
});

test('only the methods of the kubelet have names', () => {
  const known = ['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT'];
  expect(labelled('readonly', ...[...known, 'PATCH', 'PROPFIND'].map((method) => `${method} /pods`))).toEqual([
    ...known.map((method) => `${method} pods readonly false 1`),
    'other pods readonly false 2',
  ]);
});
