import { expect, test } from 'vitest';
import { SilentClients } from '../../src/plugins/silent-clients.ts';

test('the first to close has been silent the longest', () => {
  const clients = new SilentClients<{ bytesRead: number }>();
  const [early, silent, late] = [{ bytesRead: 0 }, { bytesRead: 0 }, { bytesRead: 0 }];
  for (const each of [early, silent, late]) clients.add(each);
  early.bytesRead = 24;
  expect([clients.takeFirst(), clients.takeFirst(), clients.size]).toEqual([silent, late, 1]);
  clients.delete(early);
  expect([clients.takeFirst(), clients.size]).toEqual([undefined, 0]);
});
