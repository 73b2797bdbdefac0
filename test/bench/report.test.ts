import { expect, test } from 'vitest';
import { Figures, floor } from '../../bench/figures.ts';
import { performancePage, performancePicture, type Recorded, type Report } from '../../bench/report.ts';

const started = { what: 'manifest dropped → container started', unit: 'ms' } as const;
const memory = { what: 'resident memory, idle with 50 pods', unit: 'MB' } as const;

const kubelet: Recorded = {
  who: 'kubelet 1.32',
  how: 'recorded on another machine.',
  figures: [
    { ...started, median: 300, floor: 200 },
    { ...memory, median: 86 },
  ],
};

function makeReport(...others: string[]): Report {
  const figures = new Figures();
  figures.add(started, floor, 90, 100, 110);
  for (const who of others) figures.add(started, who, 250);
  figures.add(started, 'kubelet-ts', 120, 125, 130);
  figures.add(memory, 'kubelet-ts', 71.4);
  figures.add({ what: 'node -e 0', unit: 'ms' }, 'node', 40);
  return {
    date: '2026-01-31',
    machine: ['2 CPUs', 'Node v20.19.0, containerd 1.6.20'],
    runs: 3,
    figures: figures.summaries(),
    recorded: [kubelet],
    stated: [{ who: 'k3s', memory: '500 MB', source: 'https://k3s.example' }],
    measures: ['one', 'init'],
  };
}

test('the page has a table of all figures of kubelet-ts, with the recorded ones as ratios, and the machine', () => {
  const page = performancePage(makeReport('podman'));
  const [, results = ''] = page.split('![The times');
  expect(results).toBe(` as multiples of the floor](performance.svg)

Numbers in parentheses are multiples of the floor. The same machine can be twice as fast on another day, so compare them, not times.

|  | floor | kubelet 1.32 | podman | kubelet-ts |
| --- | --- | --- | --- | --- |
| manifest dropped → container started | 100 ms | (1.50) | 250 ms (2.50) | 125 ms (1.25) |
| resident memory, idle with 50 pods |  | 86 MB |  | 71 MB |

Medians of at most 3 runs on 2026-01-31. One pod is one busybox container on the host network.

- 2 CPUs
- Node v20.19.0, containerd 1.6.20
- kubelet 1.32: recorded on another machine.
`);
  expect(page).toContain('`--only` accepts `one`, `init`.');
});

test('what others state of their memory stands next to that of a box, with its source', () => {
  const report = makeReport();
  expect(performancePage(report)).not.toContain('k3s');
  const figures = new Figures();
  figures.add({ what: 'memory (PSS) of agent, containerd and shims, 1 pod', unit: 'MB' }, 'kubelet-ts', 100);
  expect(performancePage({ ...report, figures: figures.summaries() }).split('## ')[1]).toBe(`Memory of others

PSS counts shared pages in parts, so figures add up. Containers of pods are not in it. Others measure in other ways:

- k3s: 500 MB ([source](https://k3s.example))
`);
});

test('a program that was measured in this run is shown without its recorded figures', () => {
  const page = performancePage(makeReport('kubelet'));
  expect(page.match(/^\|.*/gm)?.slice(0, 3)).toEqual([
    '|  | floor | kubelet | kubelet-ts |',
    '| --- | --- | --- | --- |',
    '| manifest dropped → container started | 100 ms | 250 ms (2.50) | 125 ms (1.25) |',
  ]);
  expect(page).not.toContain('1.32');
});

test('the picture has a bar for each program, as long as its multiple of the floor', () => {
  expect(performancePicture(makeReport())).toBe(
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 86" width="760" height="86" font-family="system-ui,sans-serif" font-size="13" fill="#768390">
<text x="0" y="22" font-weight="bold">manifest dropped → container started</text>
<text x="0" y="41">floor</text><rect x="110" y="31" width="393" height="13" fill="#8b949e"/><text x="509" y="41">1.00</text>
<text x="0" y="57">kubelet 1.32</text><rect x="110" y="47" width="590" height="13" fill="#bf8700"/><text x="706" y="57">1.50</text>
<text x="0" y="73">kubelet-ts</text><rect x="110" y="63" width="492" height="13" fill="#2f81f7"/><text x="608" y="73">1.25</text>
</svg>
`,
  );
});
