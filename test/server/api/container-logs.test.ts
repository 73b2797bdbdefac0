import { expect, test } from 'vitest';
import { logInstance, parseLogQuery } from '../../../src/server/api/container-logs.ts';
import { web } from './api-rig.ts';

const parse = (query: string): ReturnType<typeof parseLogQuery> =>
  parseLogQuery(new URLSearchParams(query), { now: 10_000, splitStreams: false });

test('the query of a log is read as the kubelet reads it', () => {
  const plain = { follow: false, previous: false, timestamps: false, stream: 'All' };
  const undecodable = { status: 400, text: '{"message": "Unable to decode query."}' };
  const invalid = { status: 422, text: '{"message": "Invalid request."}' };
  const table: [string, ReturnType<typeof parseLogQuery>][] = [
    ['', plain],
    ['follow=x&timestamps=false', { ...plain, follow: true }],
    ['tail=all&tailLines=3', plain],
    ['tail=&tailLines=3', { ...plain, tailLines: 3 }],
    ['tailLines=all', undecodable],
    ['tailLines=1.5', undecodable],
    ['tailLines=99999999999999999999', undecodable],
    ['tailLines=-1', invalid],
    ['limitBytes=0', invalid],
    ['sinceSeconds=5', { ...plain, sinceMs: 5000 }],
    ['sinceSeconds=5&sinceTime=2024-01-02T03:04:07Z', invalid],
    ['sinceTime=x', undecodable],
    ['sinceTime=', plain],
  ];
  expect(table.map(([query]) => [query, parse(query)])).toEqual(table);
});

test('the instance to read is the running one, or the kubelet says why there is none', () => {
  expect([logInstance(web, 'a', false), logInstance(web, 'a', true), logInstance(web, 'b', false)]).toEqual([
    { id: 'id-a', runs: true },
    { problem: 'previous terminated container "a" in pod "web" not found' },
    { problem: 'container "b" in pod "web" is not available' },
  ]);
});
