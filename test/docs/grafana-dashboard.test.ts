import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { missingMetrics } from '../golden-runner/server/missing-metrics.ts';
import { promtool } from '../support/promtool.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { readDocument } from './documents.ts';

interface Dashboard {
  description: string;
  panels: { title: string; targets: { expr: string }[] }[];
}

interface Family {
  name: string;
  type: string;
  labels: string[];
}

const { description, panels } = JSON.parse(readDocument('docs/use/grafana-dashboard.json')) as Dashboard;
const queries = panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })));

/** The metrics of the kubelet that the agent has, on the pages that the dashboard needs. */
const families = ((): Family[] => {
  const file = new URL('../golden/server/metrics.json', import.meta.url);
  const { endpoints } = JSON.parse(readFileSync(file, 'utf8')) as { endpoints: Record<string, Family[]> };
  const missing = missingMetrics();
  const pages = description.match(/\/metrics[/a-z]*/g) ?? [];
  return pages
    .flatMap((page) => endpoints[page] ?? [])
    .filter(({ name }) => !missing.some(({ pattern }) => pattern.test(name)));
})();

/** Labels that Prometheus adds. */
const addedLabels = ['instance'];

test('each query of the dashboard uses metrics and labels of the agent', () => {
  expect(queries.length).toBeGreaterThan(12);
  const strange = queries.flatMap(({ title, expr }) => {
    const names: readonly string[] = expr.match(/\b\w+(?=\{)/g) ?? [];
    const used = families.filter(({ name }) => names.includes(name));
    const labels = [...expr.matchAll(/by \(([^)]*)\)|(\w+)=~?"/g)].flatMap(([, list = '', one = '']) =>
      `${list}, ${one}`.split(', ').filter(Boolean),
    );
    const known = [...addedLabels, ...used.flatMap((family) => family.labels)];
    const wrong = [
      ...names.filter((name) => !used.some((family) => family.name === name)),
      ...labels.filter((label) => !known.includes(label)),
    ];
    return names.length === 0 || wrong.length > 0 ? [{ title, expr, wrong }] : [];
  });
  expect(strange).toEqual([]);
});

test('each query of the dashboard is PromQL', async () => {
  const rules = queries.map(({ expr }, index) => ({
    record: `panel:${index}`,
    expr: expr.replaceAll('$__rate_interval', '1m'),
  }));
  const file = join(await temporaryFolder(), 'rules.json');
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules }] }));
  const { all } = await execa(promtool, ['check', 'rules', file], { all: true, reject: false });
  expect(all).toContain(`SUCCESS: ${queries.length} rules found`);
});
