import { expect, test } from 'vitest';
import { chosenFormat } from '../../../src/server/api/metrics-mount.ts';
import { HealthSLIs } from '../../../src/server/metrics/health-slis.ts';
import { ApiRig, apiDeps } from './api-rig.ts';

const binary = 'application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited';

test.each([
  [undefined, false, 'underscores'],
  ['', false, 'underscores'],
  [binary, true, 'underscores'],
  [`${binary}; escaping=allow-utf-8`, true, 'allow-utf-8'],
  [`${binary}; escaping=unheard-of`, true, 'underscores'],
  [binary.replace('=io.prometheus.client.MetricFamily', '="io.prometheus.client.MetricFamily"'), true, 'underscores'],
  [binary.replace('delimited', 'text'), false, 'underscores'],
  [binary.replace('MetricFamily', 'Metric'), false, 'underscores'],
  [`${binary};q=0.4, text/plain;version=0.0.4;q=0.6`, false, 'underscores'],
  [`text/plain;version=0.0.4;escaping=dots;q=0.5,*/*;q=0.2,${binary};q=0.6`, true, 'underscores'],
  [`application/openmetrics-text;version=1.0.0,${binary};q=0.5,text/plain;q=0.3`, true, 'underscores'],
  [`text/plain;version=1.0.0,${binary};q=0.1`, true, 'underscores'],
  [`text/plain, ${binary}`, false, 'underscores'],
  ['application/json;q=x,,;;=,', false, 'underscores'],
])('a client that accepts %s gets binary metrics: %s, with names escaped by %s', (accept, isBinary, escaping) => {
  expect(chosenFormat(accept)).toEqual({ isBinary, escaping });
});

test('DELETE drops the health results, but no other metrics', async () => {
  const health = new HealthSLIs();
  health.record('ping', true);
  const rig = await ApiRig.open({ metrics: { ...apiDeps().metrics, health } });
  const client = await rig.authority.issue('carol');
  const seen = [];
  for (const path of ['/metrics', '/metrics/slis']) {
    const answer = await rig.short(`DELETE ${path}`, { client });
    seen.push([answer, health.families().flatMap(({ samples }) => [...samples]).length]);
  }
  expect(seen).toEqual([
    ['200 # metrics of /metrics\n', 2],
    ['200 metrics reset\n', 0],
  ]);
});
