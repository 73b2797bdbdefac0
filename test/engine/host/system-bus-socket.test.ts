import { expect, test } from 'vitest';
import { systemBusSocket } from '../../../src/engine/host/system-bus-socket.ts';

test.each([
  ['/run/dbus/system_bus_socket', undefined],
  ['/run/dbus/system_bus_socket', 'tcp:host=box.example,port=1'],
  ['/tmp/bus', 'unix:path=/tmp/bus'],
  ['/tmp/a bus', 'tcp:host=box.example,port=1;unix:guid=12,path=/tmp/a%20bus,runtime=yes'],
])('the system bus is at %s where its address is %s', (path, address) => {
  expect(systemBusSocket({ DBUS_SYSTEM_BUS_ADDRESS: address })).toBe(path);
});
