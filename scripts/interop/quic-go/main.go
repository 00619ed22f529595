// Both ends of HTTP/3 on quic-go.
//
//	quic-go-peer serve CHAIN KEY FOLDER    says `listening on PORT`; `early data` for a request on a connection that used it
//	quic-go-peer page CHAIN KEY LIST ADDRESS    answers each path with as many bytes as a line `PATH BYTES` of the file LIST says
//	quic-go-peer fetch ROOT PORT PATH...   two connections: the second resumes the first and sends early data
//	quic-go-peer post ROOT PORT BYTES
//
// A client prints for each response: status, size and SHA-256 of the body, path.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

const host = "any.farlink.test"

func main() {
	log.SetFlags(0)
	words := os.Args[2:]
	var err error
	switch os.Args[1] {
	case "serve":
		err = serve(words[0], words[1], words[2])
	case "page":
		err = page(words[0], words[1], words[2], words[3])
	case "fetch":
		var asks []ask
		for _, path := range words[2:] {
			asks = append(asks, ask{http3.MethodGet0RTT, path, nil})
		}
		err = fetch(words[0], words[1], asks)
	case "post":
		var size int
		if size, err = strconv.Atoi(words[2]); err == nil {
			err = fetch(words[0], words[1], []ask{{http.MethodPost, "/body", make([]byte, size)}})
		}
	default:
		err = fmt.Errorf("`%s` is no end", os.Args[1])
	}
	if err != nil {
		log.Fatal(err)
	}
}

type connectionKey struct{}

// A GET is answered with a file of the folder, a POST with the size of its body.
func serve(chain, key, folder string) error {
	answer := func(out http.ResponseWriter, in *http.Request) {
		if in.Context().Value(connectionKey{}).(*quic.Conn).ConnectionState().Used0RTT {
			fmt.Println("early data")
		}
		if in.Method == http.MethodPost {
			size, err := io.Copy(io.Discard, in.Body)
			if err == nil {
				fmt.Fprint(out, size)
			}
			return
		}
		body, err := os.ReadFile(filepath.Join(folder, filepath.Base(in.URL.Path)))
		if err != nil {
			http.NotFound(out, in)
			return
		}
		out.Write(body)
	}
	return listen(chain, key, "127.0.0.1:0", answer)
}

// Sizes are all that a loader looks at.
func page(chain, key, list, address string) error {
	text, err := os.ReadFile(list)
	if err != nil {
		return err
	}
	bodies := map[string][]byte{}
	for number, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		path, size, _ := strings.Cut(line, " ")
		bytes, err := strconv.Atoi(size)
		if err != nil {
			return fmt.Errorf("%s:%d: `%s` is not PATH BYTES", list, number+1, line)
		}
		bodies[path] = make([]byte, bytes)
	}
	return listen(chain, key, address, func(out http.ResponseWriter, in *http.Request) {
		body, known := bodies[in.URL.RequestURI()]
		if !known {
			http.NotFound(out, in)
			return
		}
		out.Write(body)
	})
}

func listen(chain, key, address string, answer http.HandlerFunc) error {
	identity, err := tls.LoadX509KeyPair(chain, key)
	if err != nil {
		return err
	}
	socket, err := net.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	server := http3.Server{
		Handler:    answer,
		TLSConfig:  http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{identity}}),
		QUICConfig: &quic.Config{Allow0RTT: true},
		ConnContext: func(ctx context.Context, connection *quic.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, connection)
		},
	}
	fmt.Println("listening on", socket.LocalAddr().(*net.UDPAddr).Port)
	return server.Serve(socket)
}

type ask struct {
	method, path string
	body         []byte
}

func fetch(root, port string, asks []ask) error {
	roots := x509.NewCertPool()
	pem, err := os.ReadFile(root)
	if err != nil {
		return err
	}
	roots.AppendCertsFromPEM(pem)
	config := &tls.Config{RootCAs: roots, ServerName: host, ClientSessionCache: tls.NewLRUClientSessionCache(10)}
	first, early, err := connect(config, port, asks)
	if err != nil {
		return err
	}
	if early {
		return fmt.Errorf("the first connection sent early data")
	}
	second, early, err := connect(config, port, asks)
	if err != nil {
		return err
	}
	if !early && asks[0].method != http.MethodPost {
		return fmt.Errorf("the second connection's early data was not taken")
	}
	for i := range first {
		if first[i] != second[i] {
			return fmt.Errorf("first %s, then %s", first[i], second[i])
		}
		fmt.Println(second[i])
	}
	return nil
}

// Asks for everything at once on a connection of its own; says whether early data was taken.
func connect(config *tls.Config, port string, asks []ask) ([]string, bool, error) {
	var connection *quic.Conn
	transport := &http3.Transport{
		TLSClientConfig: config,
		Dial: func(ctx context.Context, _ string, tlsConfig *tls.Config, quicConfig *quic.Config) (*quic.Conn, error) {
			var err error
			connection, err = quic.DialAddrEarly(ctx, "127.0.0.1:"+port, tlsConfig, quicConfig)
			return connection, err
		},
	}
	defer transport.Close()
	lines, errs := make([]string, len(asks)), make([]error, len(asks))
	var all sync.WaitGroup
	for i := range asks {
		all.Go(func() { lines[i], errs[i] = one(transport, asks[i]) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, false, err
		}
	}
	early := connection.ConnectionState().Used0RTT
	// Until the server's ticket has come.
	time.Sleep(100 * time.Millisecond)
	return lines, early, nil
}

func one(transport *http3.Transport, ask ask) (string, error) {
	request, err := http.NewRequest(ask.method, "https://"+host+ask.path, bytes.NewReader(ask.body))
	if err != nil {
		return "", err
	}
	if ask.body == nil {
		request.Body = nil
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %d %x %s", response.StatusCode, len(body), sha256.Sum256(body), ask.path), err
}
