import { expect, test } from 'vitest';
import { apiMounts, type HandlerOptions } from '../../../src/server/api/api-mounts.ts';
import { countedPaths, type CountedServer, HTTPCounts } from '../../../src/server/metrics/http-counts.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { apiDeps, handlerOptions } from '../api/api-rig.ts';

/** A server with its mounts. */
function server(type: CountedServer['type'], changed: Partial<HandlerOptions> = {}): CountedServer {
  const deps = { ...apiDeps(), options: { ...handlerOptions, ...changed } };
  return { type, paths: countedPaths(apiMounts(deps, { readOnly: type === 'readonly' })) };
}

/** Labels of each request: the method, the path, the server, whether it is long-running. */
function labelled(counted: CountedServer, ...requests: string[]): string[] {
  const counts = new HTTPCounts(new FakeClock());
  for (const request of requests) {
    const [method, url] = request.split(' ');
    counts.began({ method, url }, counted)();
  }
  const [, , total] = counts.families();
  return [...(total?.samples ?? [])].map(({ labels, value }) => {
    const { method = '', path = '', server_type: type = '', long_running: isLong = '' } = labels;
    return [method, path, type, isLong, value].join(' ');
  });
}

test('a request is counted under the first part of a path that its server has', () => {
  const paths = ['/healthz/ping', '/pods?a', '/stats/summary', '/metrics', '/metrics/cadvisor', '/metrics/probes'];
  const others = ['/metrics/', '/metrics/slis', '/nosuch', '/', '//pods', '/%2Fpods', '/%zz'];
  expect(labelled(server('readwrite'), ...[...paths, '/%70ods', ...others].map((path) => `GET ${path}`))).toEqual([
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
  expect(labelled(server('readwrite'), ...[...paths, ...others].map((path) => `GET ${path}`))).toEqual([
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

test.each(['readonly', 'readwrite'] as const)('a %s server without debug handlers knows fewer paths', (type) => {
  const known = ['run', 'exec', 'attach', 'portForward', 'containerLogs', 'runningpods', 'logs', 'pprof'];
  const others = ['/configz', '/checkpoint/d/p/c', '/debug/pprof/'];
  const requests = [...known.map((name) => `/${name}/`), ...others].map((path) => `GET ${path}`);
  expect(labelled(server(type, { enableDebuggingHandlers: false }), ...requests)).toEqual([
    ...known.map((name) => `GET ${name} ${type} ${['exec', 'attach'].includes(name)} 1`),
    `GET other ${type} false 3`,
  ]);
});

test('checkpoints have a label only with their gate', () => {
  const requests = ['GET /configz', 'POST /checkpoint/d/p/c'];
  expect([
    labelled(server('readwrite'), ...requests),
    labelled(server('readwrite', { checkpoints: false }), ...requests),
  ]).toEqual([
    ['GET configz readwrite false 1', 'POST checkpoint readwrite false 1'],
    ['GET configz readwrite false 1', 'POST other readwrite false 1'],
  ]);
});

test('only the methods of the kubelet have names', () => {
  const known = ['OPTIONS', 'GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'TRACE', 'CONNECT'];
  expect(labelled(server('readonly'), ...[...known, 'PATCH', 'PROPFIND'].map((method) => `${method} /pods`))).toEqual([
    ...known.map((method) => `${method} pods readonly false 1`),
    'other pods readonly false 2',
  ]);
});
