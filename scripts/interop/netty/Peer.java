import io.netty.bootstrap.Bootstrap;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelPipeline;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.SocketChannel;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.channel.socket.nio.NioSocketChannel;
import io.netty.handler.codec.spdy.DefaultSpdyDataFrame;
import io.netty.handler.codec.spdy.DefaultSpdySynReplyFrame;
import io.netty.handler.codec.spdy.DefaultSpdySynStreamFrame;
import io.netty.handler.codec.spdy.SpdyDataFrame;
import io.netty.handler.codec.spdy.SpdyFrame;
import io.netty.handler.codec.spdy.SpdyFrameCodec;
import io.netty.handler.codec.spdy.SpdyGoAwayFrame;
import io.netty.handler.codec.spdy.SpdyHeaders;
import io.netty.handler.codec.spdy.SpdyRstStreamFrame;
import io.netty.handler.codec.spdy.SpdySessionHandler;
import io.netty.handler.codec.spdy.SpdySynReplyFrame;
import io.netty.handler.codec.spdy.SpdySynStreamFrame;
import io.netty.handler.codec.spdy.SpdyVersion;
import io.netty.handler.ssl.ApplicationProtocolConfig;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/**
 * Both ends of SPDY/3.1 on Netty, frame by frame.
 *
 * <pre>
 * Peer serve SECURITY CHAIN KEY FOLDER           says `listening on PORT`; `push refused` when a client resets what was pushed
 * Peer fetch SECURITY ROOT PORT TIMES HEADER PATH...   all at once; HEADER is the size of a field in each request
 * Peer post SECURITY ROOT PORT TIMES BYTES
 * </pre>
 *
 * SECURITY is `none`, `tls12` or `tls13`. A GET of `/push/NAME` pushes `/pushed` before it answers; one with a field `x-large` is
 * answered with one as large. A client prints for each response: status, size and SHA-256 of the body, path.
 */
public final class Peer {
    private static final String HOST = "any.farlink.test";
    private static final SpdyVersion VERSION = SpdyVersion.SPDY_3_1;

    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "serve" -> serve(words);
            case "fetch" -> fetch(words, Integer.parseInt(words[4]), Integer.parseInt(words[5]), -1, List.of(words).subList(6, words.length));
            case "post" -> fetch(words, Integer.parseInt(words[4]), 0, Integer.parseInt(words[5]), List.of("/body"));
            default -> throw new IllegalArgumentException("`" + words[0] + "` is no end");
        }
    }

    private static SslContext secured(SslContextBuilder builder, String security) throws Exception {
        return builder
            .protocols(security.equals("tls12") ? "TLSv1.2" : "TLSv1.3")
            .applicationProtocolConfig(new ApplicationProtocolConfig(
                ApplicationProtocolConfig.Protocol.ALPN,
                ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
                ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT,
                "spdy/3.1"))
            .build();
    }

    private static void begin(ChannelPipeline pipeline, boolean isServer) {
        pipeline.addLast(new SpdyFrameCodec(VERSION), new SpdySessionHandler(VERSION, isServer));
    }

    private static void serve(String[] words) throws Exception {
        SslContext tls = words[1].equals("none") ? null
            : secured(SslContextBuilder.forServer(new File(words[2]), new File(words[3])), words[1]);
        Path folder = Path.of(words[4]);
        var server = new ServerBootstrap()
            .group(new NioEventLoopGroup(1))
            .channel(NioServerSocketChannel.class)
            .childHandler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel channel) {
                    if (tls != null) {
                        channel.pipeline().addLast(tls.newHandler(channel.alloc()));
                    }
                    begin(channel.pipeline(), true);
                    channel.pipeline().addLast(new Server(folder));
                }
            })
            .bind("127.0.0.1", 0).sync().channel();
        System.out.println("listening on " + ((InetSocketAddress) server.localAddress()).getPort());
        server.closeFuture().sync();
    }

    /** A server's end of one connection. */
    private static final class Server extends SimpleChannelInboundHandler<SpdyFrame> {
        private final Path folder;
        private final Map<Integer, SpdySynStreamFrame> requests = new HashMap<>();
        private final Map<Integer, Integer> sizes = new HashMap<>();
        private int pushed = 0;

        Server(Path folder) {
            this.folder = folder;
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, SpdyFrame frame) throws Exception {
            if (frame instanceof SpdySynStreamFrame request) {
                requests.put(request.streamId(), request);
                sizes.put(request.streamId(), 0);
                if (request.isLast()) {
                    answer(context, request.streamId());
                }
            } else if (frame instanceof SpdyDataFrame data) {
                sizes.merge(data.streamId(), data.content().readableBytes(), Integer::sum);
                if (data.isLast()) {
                    answer(context, data.streamId());
                }
            } else if (frame instanceof SpdyRstStreamFrame reset && reset.streamId() % 2 == 0) {
                System.out.println("push refused: " + reset.status());
            }
        }

        private void answer(ChannelHandlerContext context, int stream) throws Exception {
            SpdyHeaders request = requests.remove(stream).headers();
            String path = request.getAsString(SpdyHeaders.HttpNames.PATH).substring(1);
            byte[] body = sizes.remove(stream).toString().getBytes();
            if (request.getAsString(SpdyHeaders.HttpNames.METHOD).equals("GET")) {
                if (path.startsWith("push/")) {
                    path = path.substring(5);
                    push(context, stream);
                }
                body = Files.readAllBytes(folder.resolve(path));
            }
            var reply = new DefaultSpdySynReplyFrame(stream);
            reply.headers().set(SpdyHeaders.HttpNames.STATUS, "200 OK").set(SpdyHeaders.HttpNames.VERSION, "HTTP/1.1");
            reply.headers().set("content-length", String.valueOf(body.length));
            if (request.contains("x-large")) {
                reply.headers().set("x-large", request.get("x-large"));
            }
            context.write(reply);
            var data = new DefaultSpdyDataFrame(stream, Unpooled.wrappedBuffer(body));
            context.writeAndFlush(data.setLast(true));
        }

        private void push(ChannelHandlerContext connection, int stream) {
            // A client of ours says that it takes no pushed streams, and Netty's session heeds that: past it goes what an unruly server sends.
            var context = connection.pipeline().context(SpdySessionHandler.class);
            pushed += 2;
            var push = new DefaultSpdySynStreamFrame(pushed, stream, (byte) 3);
            push.setUnidirectional(true);
            push.headers()
                .set(SpdyHeaders.HttpNames.SCHEME, "https").set(SpdyHeaders.HttpNames.HOST, HOST).set(SpdyHeaders.HttpNames.PATH, "/pushed")
                .set(SpdyHeaders.HttpNames.STATUS, "200 OK").set(SpdyHeaders.HttpNames.VERSION, "HTTP/1.1");
            context.write(push);
            var data = new DefaultSpdyDataFrame(pushed, Unpooled.wrappedBuffer(new byte[10_000]));
            context.writeAndFlush(data.setLast(true));
        }
    }

    private static void fetch(String[] words, int times, int header, int post, List<String> paths) throws Exception {
        SslContext tls = words[1].equals("none") ? null
            : secured(SslContextBuilder.forClient().trustManager(new File(words[2])), words[1]);
        int port = Integer.parseInt(words[3]);
        List<Asked> all = new ArrayList<>();
        for (String path : paths) {
            for (int i = 0; i < times; i++) {
                all.add(new Asked(2 * all.size() + 1, path));
            }
        }
        var group = new NioEventLoopGroup(1);
        var client = new Client(all, header, post);
        new Bootstrap()
            .group(group)
            .channel(NioSocketChannel.class)
            .handler(new ChannelInitializer<SocketChannel>() {
                @Override
                protected void initChannel(SocketChannel channel) {
                    if (tls != null) {
                        channel.pipeline().addLast(tls.newHandler(channel.alloc(), HOST, port));
                    }
                    begin(channel.pipeline(), false);
                    channel.pipeline().addLast(client);
                }
            })
            .connect("127.0.0.1", port).sync();
        client.whole.get(30, TimeUnit.SECONDS);
        for (Asked asked : all) {
            System.out.println(asked.line());
        }
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    /** A request and what has come of its response. */
    private static final class Asked {
        final int stream;
        final String path;
        final MessageDigest digest;
        String status;
        int size = 0;

        Asked(int stream, String path) throws Exception {
            this.stream = stream;
            this.path = path;
            this.digest = MessageDigest.getInstance("SHA-256");
        }

        String line() {
            return status + " " + size + " " + HexFormat.of().formatHex(digest.digest()) + " " + path;
        }
    }

    /** A client's end of one connection: sends all requests at once. */
    private static final class Client extends SimpleChannelInboundHandler<SpdyFrame> {
        final CompletableFuture<Void> whole = new CompletableFuture<>();
        private final List<Asked> all;
        private final int header;
        private final int post;
        private int left;

        Client(List<Asked> all, int header, int post) {
            this.all = all;
            this.header = header;
            this.post = post;
            this.left = all.size();
        }

        @Override
        public void channelActive(ChannelHandlerContext context) {
            for (Asked asked : all) {
                var request = new DefaultSpdySynStreamFrame(asked.stream, 0, (byte) (asked.stream % 8));
                request.setLast(post < 0);
                request.headers()
                    .set(SpdyHeaders.HttpNames.METHOD, post < 0 ? "GET" : "POST").set(SpdyHeaders.HttpNames.PATH, asked.path)
                    .set(SpdyHeaders.HttpNames.VERSION, "HTTP/1.1").set(SpdyHeaders.HttpNames.HOST, HOST)
                    .set(SpdyHeaders.HttpNames.SCHEME, "https");
                if (header > 0) {
                    request.headers().set("x-large", "x".repeat(header));
                }
                context.write(request);
                if (post >= 0) {
                    var data = new DefaultSpdyDataFrame(asked.stream, Unpooled.wrappedBuffer(new byte[post]));
                    context.write(data.setLast(true));
                }
            }
            context.flush();
        }

        @Override
        protected void channelRead0(ChannelHandlerContext context, SpdyFrame frame) {
            if (frame instanceof SpdySynReplyFrame reply) {
                Asked asked = all.get(reply.streamId() / 2);
                asked.status = reply.headers().getAsString(SpdyHeaders.HttpNames.STATUS).split(" ")[0];
                if (header > 0 && reply.headers().getAsString("x-large").length() != header) {
                    whole.completeExceptionally(new IllegalStateException("the field came back in another size"));
                }
                end(asked, reply.isLast());
            } else if (frame instanceof SpdyDataFrame data) {
                Asked asked = all.get(data.streamId() / 2);
                ByteBuf piece = data.content();
                asked.size += piece.readableBytes();
                asked.digest.update(piece.nioBuffer());
                end(asked, data.isLast());
            } else if (frame instanceof SpdyRstStreamFrame || frame instanceof SpdyGoAwayFrame) {
                whole.completeExceptionally(new IllegalStateException(frame.toString()));
            }
        }

        private void end(Asked asked, boolean isLast) {
            if (isLast) {
                left--;
            }
            if (left == 0) {
                whole.complete(null);
            }
        }

        @Override
        public void channelInactive(ChannelHandlerContext context) {
            whole.completeExceptionally(new IllegalStateException("the connection closed"));
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
            whole.completeExceptionally(cause);
        }
    }
}
