import { expect, test } from 'vitest';
import { serviceVariables } from '../../../src/engine/services/service-variables.ts';
import { headless, makePort, makeService } from '../../builders/services.ts';

const allocation = (clusterIP: string) => ({ clusterIPs: [clusterIP], nodePorts: {} });

test('names host, ports and links of the Services of a namespace as the kubelet does', () => {
  const services = [
    makeService('redis-master', {
      ports: [makePort({ port: 6379 }), makePort({ name: 'bus-port', protocol: 'UDP', port: 16_379 })],
    }),
    makeService('six', { ports: [makePort({ name: 'http' })] }),
    makeService('elsewhere', { namespace: 'other' }),
    headless('db'),
    makeService('unallocated'),
  ];
  const allocations = new Map([
    ['default/redis-master', allocation('10.223.0.5')],
    ['default/six', allocation('fd00::5')],
    ['other/elsewhere', allocation('10.223.0.6')],
  ]);
  expect([...serviceVariables(services, allocations, 'default')].map((entry) => entry.join('='))).toEqual([
    'REDIS_MASTER_SERVICE_HOST=10.223.0.5',
    'REDIS_MASTER_SERVICE_PORT=6379',
    'REDIS_MASTER_SERVICE_PORT_BUS_PORT=16379',
    'REDIS_MASTER_PORT=tcp://10.223.0.5:6379',
    'REDIS_MASTER_PORT_6379_TCP=tcp://10.223.0.5:6379',
    'REDIS_MASTER_PORT_6379_TCP_PROTO=tcp',
    'REDIS_MASTER_PORT_6379_TCP_PORT=6379',
    'REDIS_MASTER_PORT_6379_TCP_ADDR=10.223.0.5',
    'REDIS_MASTER_PORT_16379_UDP=udp://10.223.0.5:16379',
    'REDIS_MASTER_PORT_16379_UDP_PROTO=udp',
    'REDIS_MASTER_PORT_16379_UDP_PORT=16379',
    'REDIS_MASTER_PORT_16379_UDP_ADDR=10.223.0.5',
    'SIX_SERVICE_HOST=fd00::5',
    'SIX_SERVICE_PORT=80',
    'SIX_SERVICE_PORT_HTTP=80',
    'SIX_PORT=tcp://[fd00::5]:80',
    'SIX_PORT_80_TCP=tcp://[fd00::5]:80',
    'SIX_PORT_80_TCP_PROTO=tcp',
    'SIX_PORT_80_TCP_PORT=80',
    'SIX_PORT_80_TCP_ADDR=fd00::5',
  ]);
});
