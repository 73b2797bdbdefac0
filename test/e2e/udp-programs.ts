/** Answers each packet with its first argument. */
export const udpServer = `
import socket, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('', 9090))
print('ready', flush=True)
while True: server.sendto(sys.argv[1].encode() + b'\\n', server.recvfrom(99)[1])
`;

/** Sends ten packets a second from one port to the address and port in its arguments, and prints the answers. */
export const udpSender = `
import socket, sys
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.connect((sys.argv[1], int(sys.argv[2])))
sender.settimeout(0.1)
while True:
  try:
    sender.send(b'x')
    print(sender.recv(99).decode(), flush=True)
  except OSError: pass
`;
