import { expect, test } from 'vitest';
import { IdleClients } from '../../src/plugins/unix-grpc-server.ts';

test('the first to close has been silent the longest', () => {
  const clients = new IdleClients<{ bytesRead: number }>();
  const [early, silent, late] = [{ bytesRead: 0 }, { bytesRead: 0 }, { bytesRead: 0 }];
  for (const each of [early, silent, late]) clients.add(each);
  early.bytesRead = 24;
  expect([clients.evictLongestSilent(), clients.evictLongestSilent(), clients.size]).toEqual([silent, late, 1]);
  clients.delete(early);
  expect([clients.evictLongestSilent(), clients.size]).toEqual([undefined, 0]);
});
