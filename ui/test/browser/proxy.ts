/**
 * A proxy as users put in front of a server: it passes every request on, with the address that it came from. To the server
 * such a request comes from another machine, even if the proxy is on the same one.
 */

import { createServer, request, type IncomingMessage, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

/** Browsers know that every name below `localhost` is this machine. The server has to be told that it is called so. */
export const NAME = 'elsewhere.localhost';

export class Proxy {
  private constructor(
    readonly server: Server,
    readonly url: string,
  ) {}

  static async before(port: number): Promise<Proxy> {
    const passed = (asked: IncomingMessage) => ({ ...asked.headers, 'x-forwarded-for': '192.0.2.7' });
    const server = createServer((asked, answer) => {
      const onward = request({ host: '127.0.0.1', port, method: asked.method, path: asked.url, headers: passed(asked) }, (given) => {
        answer.writeHead(given.statusCode ?? 502, given.headers);
        given.pipe(answer);
      });
      onward.on('error', () => answer.destroy());
      asked.pipe(onward);
    });
    server.on('upgrade', (asked: IncomingMessage, socket: Duplex, head: Buffer) => {
      const onward = connect(port, '127.0.0.1', () => {
        const lines = Object.entries(passed(asked)).map(([name, value]) => `${name}: ${String(value)}\r\n`);
        onward.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${lines.join('')}\r\n`);
        onward.write(head);
        socket.pipe(onward).pipe(socket);
      });
      onward.on('error', () => socket.destroy());
      socket.on('error', () => onward.destroy());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Proxy(server, `http://${NAME}:${(server.address() as AddressInfo).port}`);
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}
